// The fields of a message as one list, by which it is written and read alike: a function walk() in
// the message's own namespace.
//
//   void walk(MessageFields& fields, Target& target) {
//     fields.number("rank", 0, kMaxNodes - 1, target.rank);
//     fields.text("address", target.address);
//   }
//
//   channel.send(FabricMessage::target, to_text(target), deadline);
//   parse<Target>(channel.receive(FabricMessage::target, deadline, "target"));
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {

inline constexpr std::size_t kMaxName = 256;  // bytes of a text without another bound

/// The JSON of a message. It walks a copy, for walk() may change what it walks.
template <class Message>
nlohmann::ordered_json write_fields(Message message);

/// The message that a peer's JSON object holds. `bounds` are further arguments of its walk().
/// Throws Error(failed) for a field that is missing or out of bounds.
template <class Message, class... Bounds>
Message read_fields(const nlohmann::json& object, Bounds... bounds);

/// Each function is of one field. A writer puts it into JSON, a reader takes it from an object
/// of the peer and checks it.
class MessageFields {
 public:
  /// Writes; with `from`, reads that.
  explicit MessageFields(const nlohmann::json* from = nullptr) : from_(from) {}

  /// What is read; null in a writer.
  const nlohmann::json* from() const { return from_; }
  /// Whether what is read has none of it, or null.
  bool lacks(const char* key) const {
    const auto found = from_ == nullptr ? nlohmann::json::const_iterator() : from_->find(key);
    return from_ != nullptr && (found == from_->end() || found->is_null());
  }
  /// What is written.
  const nlohmann::ordered_json& to() const { return to_; }
  template <class T>
  void put(const char* key, T&& value) {
    to_[key] = std::forward<T>(value);
  }

  template <class T>
  void number(const char* key, std::int64_t min, std::uint64_t max, T& value) {
    if (from_ == nullptr) return put(key, value);
    max = std::min<std::uint64_t>(max, std::numeric_limits<T>::max());
    if constexpr (std::is_signed_v<T>) {
      value = static_cast<T>(get_int(*from_, key, min, static_cast<std::int64_t>(max)));
    } else {
      value = static_cast<T>(get_uint(*from_, key, static_cast<std::uint64_t>(min), max));
    }
  }
  /// Any that the type holds.
  template <class T>
  void number(const char* key, T& value) {
    number(key, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), value);
  }
  void real(const char* key, double min, double max, double& value) {
    if (from_ == nullptr) return put(key, value);
    value = get_double(*from_, key, min, max);
  }
  /// 0 or less is null; null and, as in what earlier releases wrote, nothing is 0.
  void positive(const char* key, double max, double& value) {
    if (from_ == nullptr) return put(key, value > 0 ? nlohmann::ordered_json(value) : nullptr);
    value = lacks(key) ? 0 : get_double(*from_, key, 0, max);
  }
  void flag(const char* key, bool& value) {
    if (from_ == nullptr) return put(key, value);
    value = get_bool(*from_, key);
  }
  /// None is null.
  void flag(const char* key, std::optional<bool>& value) {
    optional(key, value, [&](bool& given) { flag(key, given); });
  }
  void text(const char* key, std::string& value, std::size_t max_bytes = kMaxName) {
    if (from_ == nullptr) return put(key, value);
    value = get_string(*from_, key, max_bytes);
  }
  /// "" is null; null and, as in what earlier releases wrote, nothing is "".
  void text_or_null(const char* key, std::string& value, std::size_t max_bytes) {
    if (from_ == nullptr)
      return put(key, value.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(value));
    value = lacks(key) ? "" : get_string(*from_, key, max_bytes);
  }
  void milliseconds(const char* key, std::chrono::milliseconds min, std::chrono::milliseconds max,
                    std::chrono::milliseconds& value) {
    auto count = value.count();
    number(key, min.count(), static_cast<std::uint64_t>(max.count()), count);
    value = std::chrono::milliseconds(count);
  }
  /// An enumerator by its name.
  template <class Enum, std::size_t kCount>
  void name(const char* key, const std::array<std::string_view, kCount>& names, Enum& value) {
    if (from_ == nullptr) return put(key, names.at(static_cast<std::size_t>(value)));
    const std::string text = get_string(*from_, key, kMaxName);
    const auto* const found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) {
      throw FieldError(
          fmt::format("the message has an unknown '{}': '{}'", key, ascii_only(text, 40)),
          "Install the same rdmabench on both sides.", key, ascii_only(text, 40),
          fmt::format("one of {}", fmt::join(names, ", ")));
    }
    value = static_cast<Enum>(found - names.begin());
  }
  /// An enumerator by its number, below `count`.
  template <class Enum>
  void code(const char* key, std::size_t count, Enum& value) {
    auto index = static_cast<unsigned>(value);
    number(key, 0, count - 1, index);
    value = static_cast<Enum>(index);
  }
  template <class T>
  void numbers(const char* key, std::size_t max_count, std::uint64_t min, std::uint64_t max,
               std::vector<T>& values) {
    if (from_ == nullptr) return put(key, values);
    values.clear();
    for (const std::uint64_t value : get_uint_list(*from_, key, max_count, min, max)) {
      values.push_back(static_cast<T>(value));
    }
  }
  void texts(const char* key, std::size_t max_count, std::size_t max_bytes,
             std::vector<std::string>& values) {
    if (from_ == nullptr) return put(key, values);
    values = get_string_list(*from_, key, max_count, max_bytes);
  }
  /// Messages within this one; walk_item(MessageFields&, Message&) walks one.
  template <class Message, class Walk>
  void list(const char* key, std::size_t max_count, std::vector<Message>& items, Walk walk_item) {
    if (from_ == nullptr) {
      put(key, nlohmann::ordered_json::array());
      for (Message item : items) {
        MessageFields fields;
        walk_item(fields, item);
        to_[key].push_back(fields.to());
      }
      return;
    }
    items.clear();
    for (const nlohmann::json& item : get_list(*from_, key, max_count)) {
      MessageFields fields(&item);
      walk_item(fields, items.emplace_back());
    }
  }
  template <class Message>
  void list(const char* key, std::size_t max_count, std::vector<Message>& items) {
    list(key, max_count, items, [](MessageFields& fields, Message& item) { walk(fields, item); });
  }
  /// A field that may be null; walk_value(T&) walks another one.
  template <class T, class Walk>
  void optional(const char* key, std::optional<T>& value, Walk walk_value) {
    if (from_ == nullptr) {
      put(key, nullptr);
    } else {
      const auto found = from_->find(key);
      value = found != from_->end() && found->is_null() ? std::nullopt : std::optional(T{});
    }
    if (value) walk_value(*value);
  }

 private:
  const nlohmann::json* from_;
  nlohmann::ordered_json to_;
};

template <class Message>
nlohmann::ordered_json write_fields(Message message) {
  MessageFields fields;
  walk(fields, message);
  return fields.to();
}

template <class Message, class... Bounds>
Message read_fields(const nlohmann::json& object, Bounds... bounds) {
  Message message{};
  MessageFields fields(&object);
  walk(fields, message, bounds...);
  return message;
}

template <class Message>
concept Walked = requires(MessageFields& fields, Message& message) {
  walk(fields, message);
};

/// What is sent of a message. A room of messages has a using-declaration of it, which its own
/// functions of this name would hide.
template <Walked Message>
std::string to_text(const Message& message) {
  return dump(write_fields(message));
}

/// The message that a peer sent. Throws Error(failed) that names the field, its value and its
/// bounds, or what else its walk() refuses.
template <Walked Message, std::size_t most_values = kMaxValues, class... Bounds>
Message parse(std::string_view text, Bounds... bounds) {
  return read_fields<Message>(parse_object(text, most_values), bounds...);
}

}  // namespace rdmabench::inline v1
