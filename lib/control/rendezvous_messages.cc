#include "rendezvous_messages.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::control {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxError = 2000;  // bytes

std::chrono::milliseconds get_wait(const Json& json) {
  return std::chrono::milliseconds(get_uint(json, "wait_ms", 0, kMaxWait.count()));
}

std::string get_key(const Json& json) {
  std::string key = get_string(json, "key", kMaxKey);
  if (!is_key(key)) {
    throw Error(Fault::failed, fmt::format("invalid key '{}' in a message", printable(key)),
                "Install the same rdmabench everywhere.");
  }
  return key;
}

Json to_json(const PutCall& put) {
  return {{"call", "put"}, {"key", put.key}, {"value", put.value}};
}
Json to_json(const GetCall& get) {
  return {{"call", "get"}, {"rank", get.rank}, {"key", get.key}, {"wait_ms", get.wait.count()}};
}
Json to_json(const BarrierCall& barrier) {
  return {{"call", "barrier"}, {"wait_ms", barrier.wait.count()}};
}

}  // namespace

bool is_key(std::string_view text) noexcept {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !text.empty() && text.size() <= kMaxKey &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool is_value(std::string_view text) {
  if (text.size() > kMaxValue || text.find('\0') != std::string_view::npos) return false;
  try {
    static_cast<void>(Json(text).dump());  // the one check of UTF-8 at hand
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

std::string to_text(const Call& call) {
  return std::visit([](const auto& one) { return to_json(one).dump(); }, call);
}

std::string to_text(const Answer& answer) {
  return Json{{"error", printable(answer.error, kMaxError - 3)}, {"value", answer.value}}.dump();
}

Call parse_call(std::string_view text) {
  const Json json = parse_object(text, "request");
  const std::string call = get_string(json, "call", kMaxKey);
  if (call == "put") {
    std::string value = get_string(json, "value", kMaxValue);
    if (!is_value(value)) throw Error(Fault::failed, "invalid value in a message: it has a NUL");
    return PutCall{get_key(json), std::move(value)};
  }
  if (call == "get") {
    return GetCall{get_uint<std::uint32_t>(json, "rank", 0, kMaxRanks - 1), get_key(json),
                   get_wait(json)};
  }
  if (call == "barrier") return BarrierCall{get_wait(json)};
  throw Error(Fault::failed, fmt::format("unknown call '{}' in a message", printable(call)),
              "Install the same rdmabench everywhere.");
}

Answer parse_answer(std::string_view text) {
  const Json json = parse_object(text, "result");
  return {printable(get_string(json, "error", kMaxError), kMaxError),
          get_string(json, "value", kMaxValue)};
}

}  // namespace rdmabench::control
