#pragma once

#include <google/protobuf/message.h>

#include <cstdint>

namespace opsmith::fuzz {

/// Changes a message in one to four places, chosen by `seed`: a number becomes another that tends
/// to break things, a name becomes one from elsewhere in the message, elements are repeated,
/// swapped and removed. The result still parses, so that what lies behind the parser is reached.
void mutate(google::protobuf::Message& message, uint64_t seed);

}  // namespace opsmith::fuzz
