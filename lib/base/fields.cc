#include "base/fields.h"

#include <fmt/format.h>

#include "base/nesting.h"

namespace rdmabench::inline v1 {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kShownOfPeer = 60;  // characters of the peer's text in an error
constexpr std::string_view kSameBuild = "Install the same rdmabench on both sides.";

std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  return ascii_only(value.dump(-1, ' ', true, Json::error_handler_t::replace), kShownOfPeer);
}

[[noreturn]] void throw_wrong(std::string_view key, const Json& value, std::string_view wanted) {
  throw FieldError(
      fmt::format("the field '{}' of the message is {}, not {}", key, shown(value), wanted),
      kSameBuild, std::string(key), shown(value), std::string(wanted));
}

const Json& field(const Json& object, std::string_view key, std::string_view wanted) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end()) {
    throw FieldError(fmt::format("the message has no field '{}', which is {}", key, wanted),
                     kSameBuild, std::string(key), "", std::string(wanted));
  }
  return *found;
}

/// Whether `value` is a whole number of the range, whichever of its two forms JSON's reader chose.
bool is_uint(const Json& value, std::uint64_t min, std::uint64_t max) {
  if (!value.is_number_unsigned()) return false;
  const auto number = value.get<std::uint64_t>();
  return number >= min && number <= max;
}

bool is_int(const Json& value, std::int64_t min, std::int64_t max) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned()) {
    return max >= 0 && value.get<std::uint64_t>() <= static_cast<std::uint64_t>(max) &&
           value.get<std::int64_t>() >= min;
  }
  const auto number = value.get<std::int64_t>();
  return number >= min && number <= max;
}

}  // namespace

std::string dump(const nlohmann::ordered_json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json parse_object(std::string_view text, std::size_t most_values) {
  // The reader itself does not recurse, but each level costs memory, and what walks the result
  // might.
  if (!json_excess(text, {.depth = kMaxNesting, .values = most_values}).empty()) {
    throw FieldError(fmt::format("the message nests more than {} deep, or has more than {} values",
                                 kMaxNesting, most_values),
                     kSameBuild, "", ascii_only(text, kShownOfPeer),
                     fmt::format("an object that nests at most {} deep, of at most {} values",
                                 kMaxNesting, most_values));
  }
  try {
    Json object = Json::parse(text);
    if (object.is_object()) return object;
  } catch (const Json::exception&) {  // told below
  }
  const std::string start = ascii_only(text, kShownOfPeer);
  throw FieldError("the message is not a JSON object: " + start, kSameBuild, "", start,
                   "a JSON object");
}

std::uint64_t get_uint(const Json& object, std::string_view key, std::uint64_t min,
                       std::uint64_t max) {
  const std::string wanted = fmt::format("a whole number from {} to {}", min, max);
  const Json& value = field(object, key, wanted);
  if (!is_uint(value, min, max)) throw_wrong(key, value, wanted);
  return value.get<std::uint64_t>();
}

std::int64_t get_int(const Json& object, std::string_view key, std::int64_t min, std::int64_t max) {
  const std::string wanted = fmt::format("a whole number from {} to {}", min, max);
  const Json& value = field(object, key, wanted);
  if (!is_int(value, min, max)) throw_wrong(key, value, wanted);
  return value.get<std::int64_t>();
}

double get_double(const Json& object, std::string_view key, double min, double max) {
  const std::string wanted = fmt::format("a number from {} to {}", min, max);
  const Json& value = field(object, key, wanted);
  const bool fits = value.is_number() && value.get<double>() >= min && value.get<double>() <= max;
  if (!fits) throw_wrong(key, value, wanted);
  return value.get<double>();
}

bool get_bool(const Json& object, std::string_view key) {
  const Json& value = field(object, key, "true or false");
  if (!value.is_boolean()) throw_wrong(key, value, "true or false");
  return value.get<bool>();
}

std::string get_string(const Json& object, std::string_view key, std::size_t max_bytes) {
  const std::string wanted = fmt::format("a text of at most {} bytes", max_bytes);
  const Json& value = field(object, key, wanted);
  if (!value.is_string() || value.get_ref<const std::string&>().size() > max_bytes) {
    throw_wrong(key, value, wanted);
  }
  return value.get<std::string>();
}

const Json& get_list(const Json& object, std::string_view key, std::size_t max_count) {
  const std::string wanted = fmt::format("a list of at most {}", max_count);
  const Json& value = field(object, key, wanted);
  if (!value.is_array() || value.size() > max_count) throw_wrong(key, value, wanted);
  return value;
}

std::vector<std::uint64_t> get_uint_list(const Json& object, std::string_view key,
                                         std::size_t max_count, std::uint64_t min,
                                         std::uint64_t max) {
  std::vector<std::uint64_t> numbers;
  for (const Json& item : get_list(object, key, max_count)) {
    if (!is_uint(item, min, max)) {
      throw_wrong(fmt::format("{}[{}]", key, numbers.size()), item,
                  fmt::format("a whole number from {} to {}", min, max));
    }
    numbers.push_back(item.get<std::uint64_t>());
  }
  return numbers;
}

std::vector<std::string> get_string_list(const Json& object, std::string_view key,
                                         std::size_t max_count, std::size_t max_bytes) {
  std::vector<std::string> texts;
  for (const Json& item : get_list(object, key, max_count)) {
    if (!item.is_string() || item.get_ref<const std::string&>().size() > max_bytes) {
      throw_wrong(fmt::format("{}[{}]", key, texts.size()), item,
                  fmt::format("a text of at most {} bytes", max_bytes));
    }
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

const Json& get_object(const Json& object, std::string_view key) {
  const Json& value = field(object, key, "an object");
  if (!value.is_object()) throw_wrong(key, value, "an object");
  return value;
}

}  // namespace rdmabench::inline v1
