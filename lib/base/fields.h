// Reading the fields of a message in JSON from a peer that is not trusted: presence, kind and
// bounds.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {

/// Objects and lists within one another; a message needs three or four.
inline constexpr int kMaxNesting = 16;
/// In a message: three bytes of its text may become some 100 bytes of memory.
inline constexpr std::size_t kMaxValues = 20000;

/// What every function below throws: Error(failed) that names the field, its value and what would
/// do. A name or a text that the peer wrote is shown cut short and with '?' for what a terminal
/// could choke on. The parts are for who reads another document than a peer's message.
class FieldError : public Error {
 public:
  FieldError(const std::string& text, std::string_view remedy, std::string key, std::string shown,
             std::string wanted)
      : Error(Fault::failed, text, remedy),
        key_(std::move(key)),
        shown_(std::move(shown)),
        wanted_(std::move(wanted)) {}

  const std::string& key() const noexcept { return key_; }        ///< "depth", "sizes[2]"; "" = all
  const std::string& shown() const noexcept { return shown_; }    ///< "0"; "" = it is missing
  const std::string& wanted() const noexcept { return wanted_; }  ///< "a whole number from 1 to 9"

 private:
  std::string key_, shown_, wanted_;
};

/// A message to send. Bytes that are not UTF-8 (a host name may hold any) become U+FFFD.
std::string dump(const nlohmann::ordered_json& message);

/// The object that `text` holds.
nlohmann::json parse_object(std::string_view text, std::size_t most_values = kMaxValues);

/// Reads that object by `read`; an error begins with `what`.
template <class Read>
auto read_object(std::string_view text, std::string_view what, std::size_t most_values, Read read) {
  try {
    return read(parse_object(text, most_values));
  } catch (const Error& error) {
    throw error.at(what);
  }
}

std::uint64_t get_uint(const nlohmann::json& object, std::string_view key, std::uint64_t min,
                       std::uint64_t max);

/// `get_uint<std::uint32_t>(request, "depth", 1, 65536)`: no cast at the caller, and no bound that
/// the type cannot hold.
template <std::unsigned_integral T>
T get_uint(const nlohmann::json& object, std::string_view key, std::type_identity_t<T> min = 0,
           std::type_identity_t<T> max = std::numeric_limits<T>::max()) {
  return static_cast<T>(get_uint(object, key, std::uint64_t{min}, std::uint64_t{max}));
}

std::int64_t get_int(const nlohmann::json& object, std::string_view key, std::int64_t min,
                     std::int64_t max);

/// Takes whole numbers too. JSON has no infinity and no NaN.
double get_double(const nlohmann::json& object, std::string_view key, double min, double max);

bool get_bool(const nlohmann::json& object, std::string_view key);

/// Valid UTF-8 of at most `max_bytes`; may hold any character, so show it through ascii_only().
std::string get_string(const nlohmann::json& object, std::string_view key, std::size_t max_bytes);

std::vector<std::uint64_t> get_uint_list(const nlohmann::json& object, std::string_view key,
                                         std::size_t max_count, std::uint64_t min,
                                         std::uint64_t max);

/// Each as of get_string().
std::vector<std::string> get_string_list(const nlohmann::json& object, std::string_view key,
                                         std::size_t max_count, std::size_t max_bytes);

/// A list to walk; the kind of its items is the caller's to check.
const nlohmann::json& get_list(const nlohmann::json& object, std::string_view key,
                               std::size_t max_count);

const nlohmann::json& get_object(const nlohmann::json& object, std::string_view key);

}  // namespace rdmabench::inline v1
