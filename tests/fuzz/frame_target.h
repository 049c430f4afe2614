// What must hold for any bytes that a peer may send as a frame. Driven by libFuzzer (targets.h) and
// by a unit test with fixed inputs.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "control/frame.h"
#include "good_text.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::control {

/// Whether `call` returns a value for which `holds` is true, or throws an Error of one printable
/// line.
bool answers(auto&& call, auto&& holds) {
  try {
    return holds(call());
  } catch (const Error& error) {
    return fuzz::is_good_text(error.what());
  }
}

/// The rule that `bytes` break, or "".
inline std::string broken_header_rule(std::string_view bytes) {
  const DecodedHeader decoded = decode_header(bytes);
  switch (decoded.fault) {
    case HeaderFault::none: {
      const auto again = encode_header(decoded.header);
      if (decoded.header.length > kMaxPayload) return "a length over the limit was taken";
      const std::uint16_t code = decoded.header.type.code();
      if ((code == 0 || code > kLastCommonCode) && code < first_code(Protocol::admission)) {
        return "an unknown type was taken";
      }
      if (!bytes.starts_with(std::string_view(again.data(), again.size()))) {
        return "the header is not what it was read from";
      }
      return "";
    }
    case HeaderFault::incomplete:
      return bytes.size() < kHeaderBytes ? "" : "a whole header was called incomplete";
    default:
      return answers([&]() -> int { throw header_error(decoded, "peer:1"); },
                     [](int) { return false; })
                 ? ""
                 : "a bad header has no good error text";
  }
}

inline std::string broken_fields_rule(std::string_view text) {
  nlohmann::json object;
  const bool read = answers(
      [&] {
        object = parse_object(text);
        return object.is_object();
      },
      [](bool is_object) { return is_object; });
  if (!read) return "parse_object() gave neither an object nor a good error text";
  const bool good =
      answers([&] { return get_uint(object, "u", 3, 70); },
              [](std::uint64_t value) { return value >= 3 && value <= 70; }) &&
      answers([&] { return get_int(object, "i", -5, 5); },
              [](std::int64_t value) { return value >= -5 && value <= 5; }) &&
      answers([&] { return get_double(object, "d", -1, 1); },
              [](double value) { return value >= -1 && value <= 1; }) &&
      answers([&] { return get_bool(object, "b"); }, [](bool) { return true; }) &&
      answers([&] { return get_string(object, "s", 8); },
              [](const std::string& value) { return value.size() <= 8; }) &&
      answers([&] { return get_uint_list(object, "l", 4, 0, 9); },
              [](const auto& value) {
                return value.size() <= 4 &&
                       std::all_of(value.begin(), value.end(), [](auto item) { return item <= 9; });
              }) &&
      answers([&] { return get_object(object, "o").size(); }, [](std::size_t) { return true; });
  return good ? "" : "a field was taken out of its bounds, or refused without a good error text";
}

/// All rules: `bytes` as a frame, then what follows its header, or else all of it, as a message.
inline std::string broken_rule(std::string_view bytes) {
  std::string broken = broken_header_rule(bytes);
  if (!broken.empty()) return broken;
  const bool framed = decode_header(bytes).fault == HeaderFault::none;
  return broken_fields_rule(framed ? bytes.substr(kHeaderBytes) : bytes);
}

}  // namespace rdmabench::inline v1::control
