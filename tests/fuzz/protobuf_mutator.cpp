#include "tests/fuzz/protobuf_mutator.h"

#include <string>
#include <vector>

#include "support/random.h"

namespace opsmith::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// A field of a message somewhere below the root that holds something.
struct Place {
  Message* message;
  const FieldDescriptor* field;
};

struct Survey {
  std::vector<Place> places;
  std::vector<std::string> strings;  ///< short ones: names, operators, domains
};

constexpr size_t kLongestName = 64;

void survey(Message& message, Survey& found) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    found.places.push_back({&message, field});
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        survey(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, i)
                                    : *reflection.MutableMessage(&message, field),
               found);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        std::string text = field->is_repeated() ? reflection.GetRepeatedString(message, field, i)
                                                : reflection.GetString(message, field);
        if (text.size() <= kLongestName) found.strings.push_back(std::move(text));
      }
    }
  }
}

int64_t strange_integer(Random& random, int64_t now) {
  static constexpr int64_t kStrange[] = {
      0,  1,  2,  3,        4,           7,           8,         16,        -1,
      -2, -3, 63, 64,       255,         65536,       1 << 20,   1 << 30,   int64_t{1} << 31,
      1,  1,  -7, -1 << 30, (1ll << 32), (1ll << 62), INT64_MAX, INT64_MIN, INT64_MIN + 1};
  const uint64_t choice = random.next() % 4;
  if (choice == 0) return now == INT64_MAX ? 0 : now + 1;
  if (choice == 1) return now == INT64_MIN ? 0 : now - 1;
  return kStrange[random.next() % std::size(kStrange)];
}

void change_string(std::string& text, const Survey& found, Random& random) {
  if (!found.strings.empty() && random.next() % 4 != 0) {
    text = found.strings[random.next() % found.strings.size()];
  } else if (!text.empty() && random.next() % 2 == 0) {
    text[random.next() % text.size()] = static_cast<char>(random.next());
  } else {
    text.resize(random.next() % (text.size() + 9));
  }
}

void change_single(const Place& place, const Survey& found, Random& random) {
  Message& message = *place.message;
  const FieldDescriptor* field = place.field;
  const Reflection& reflection = *message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      reflection.SetInt64(&message, field,
                          strange_integer(random, reflection.GetInt64(message, field)));
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      reflection.SetInt32(&message, field, static_cast<int32_t>(random.next() % 30) - 2);
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      reflection.SetEnumValue(&message, field, static_cast<int>(random.next() % 16));
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      reflection.SetFloat(&message, field, static_cast<float>(strange_integer(random, 0)));
      break;
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string text = reflection.GetString(message, field);
      change_string(text, found, random);
      reflection.SetString(&message, field, text);
      break;
    }
    default:
      if (random.next() % 8 == 0) reflection.ClearField(&message, field);
  }
}

void change_repeated(const Place& place, const Survey& found, Random& random) {
  Message& message = *place.message;
  const FieldDescriptor* field = place.field;
  const Reflection& reflection = *message.GetReflection();
  const int count = reflection.FieldSize(message, field);
  const int at = static_cast<int>(random.next() % static_cast<uint64_t>(count));
  const int other = static_cast<int>(random.next() % static_cast<uint64_t>(count));
  const uint64_t choice = random.next() % 6;
  if (choice == 0) {
    reflection.RemoveLast(&message, field);
    return;
  }
  if (choice == 1) {
    reflection.SwapElements(&message, field, at, other);
    return;
  }
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      const std::string copy =
          reflection.GetRepeatedMessage(message, field, at).SerializeAsString();
      reflection.AddMessage(&message, field)->ParseFromString(copy);
      break;
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      const int64_t value =
          strange_integer(random, reflection.GetRepeatedInt64(message, field, at));
      if (choice == 2) {
        reflection.AddInt64(&message, field, value);
      } else {
        reflection.SetRepeatedInt64(&message, field, at, value);
      }
      break;
    }
    case FieldDescriptor::CPPTYPE_FLOAT:
      reflection.SetRepeatedFloat(&message, field, at,
                                  static_cast<float>(strange_integer(random, 0)));
      break;
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string text = reflection.GetRepeatedString(message, field, at);
      change_string(text, found, random);
      if (choice == 2) {
        reflection.AddString(&message, field, text);
      } else {
        reflection.SetRepeatedString(&message, field, at, text);
      }
      break;
    }
    default:
      break;
  }
}

}  // namespace

void mutate(Message& message, uint64_t seed) {
  Random random(seed);
  const uint64_t changes = 1 + random.next() % 4;
  for (uint64_t i = 0; i < changes; ++i) {
    Survey found;
    survey(message, found);
    if (found.places.empty()) return;
    const Place& place = found.places[random.next() % found.places.size()];
    if (place.field->is_repeated()) {
      change_repeated(place, found, random);
    } else {
      change_single(place, found, random);
    }
  }
}

}  // namespace opsmith::fuzz
