#include "json_values.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "text.h"

namespace rdmabench::inline v1 {
namespace {

using OrderedJson = nlohmann::ordered_json;

const OrderedJson* find(const OrderedJson& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

const OrderedJson& typed(const OrderedJson& object, std::string_view key, OrderedJson::value_t type,
                         const OrderedJson& none) {
  const OrderedJson* const found = find(object, key);
  return found != nullptr && found->type() == type ? *found : none;
}

}  // namespace

bool begins_as_json(std::string_view text) noexcept {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text = trimmed(text);
  return text.starts_with('{') || text.starts_with('[');
}

std::string any_text(const OrderedJson& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  std::string text;
  for (const OrderedJson& item : value) text += (text.empty() ? "" : "; ") + any_text(item);
  return text;
}

std::string text_of(const OrderedJson& object, std::string_view key) {
  const OrderedJson* const found = find(object, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

std::string any_text_of(const OrderedJson& object, std::string_view key) {
  const OrderedJson* const found = find(object, key);
  return found == nullptr ? std::string() : any_text(*found);
}

double number_of(const OrderedJson& object, std::string_view key) {
  const OrderedJson* const found = find(object, key);
  return found != nullptr && found->is_number() ? found->get<double>()
                                                : std::numeric_limits<double>::quiet_NaN();
}

std::string number_text(const OrderedJson& object, std::string_view key) {
  const double value = number_of(object, key);
  return std::isfinite(value) ? fmt::format("{:.10g}", value) : any_text_of(object, key);
}

bool flag_of(const OrderedJson& object, std::string_view key) {
  const OrderedJson* const found = find(object, key);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

const OrderedJson& list_of(const OrderedJson& object, std::string_view key) {
  static const OrderedJson kNone = OrderedJson::array();
  return typed(object, key, OrderedJson::value_t::array, kNone);
}

const OrderedJson& object_of(const OrderedJson& object, std::string_view key) {
  static const OrderedJson kNone = OrderedJson::object();
  return typed(object, key, OrderedJson::value_t::object, kNone);
}

}  // namespace rdmabench::inline v1
