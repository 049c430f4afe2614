// What ranks and rank 0 say to one another over TCP: `hello`, `request` and `result` messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "rdmabench/control/rendezvous.h"

namespace rdmabench::control {

/// The first message of every rank.
struct RankHello {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::string host;
};

struct PutCall {
  std::string key;
  std::string value;
};
struct GetCall {
  std::uint32_t rank = 0;
  std::string key;
  std::chrono::milliseconds wait{};  ///< how long the caller will wait for the answer
};
struct BarrierCall {
  std::chrono::milliseconds wait{};
};
using Call = std::variant<PutCall, GetCall, BarrierCall>;

/// To a hello and to every call.
struct Answer {
  std::string error;  ///< why not; "" when all is well
  std::string value;  ///< of a get
};

/// No wait is longer: a day.
inline constexpr std::chrono::milliseconds kMaxWait{86'400'000};

bool is_key(std::string_view text) noexcept;
bool is_value(std::string_view text);  ///< UTF-8 without a NUL, and not too long

std::string to_text(const RankHello& hello);
std::string to_text(const Call& call);
std::string to_text(const Answer& answer);

// Every one throws Error(failed) that names the field which is missing or out of bounds.
RankHello parse_hello(std::string_view text);
Call parse_call(std::string_view text);
Answer parse_answer(std::string_view text);

}  // namespace rdmabench::control
