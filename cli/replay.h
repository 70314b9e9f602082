#pragma once

#include <string>
#include <vector>

namespace opsmith::cli {

/// The command line with `optimize --replay config.json ...` replaced by what that file recorded,
/// followed by whatever else was given. Throws UserError when the file holds no such record.
std::vector<std::string> expand_replay(int argc, char** argv);

/// What `optimize` was called with, for its config.json: the expanded arguments behind the
/// subcommand's name.
const std::vector<std::string>& recorded_arguments();

}  // namespace opsmith::cli
