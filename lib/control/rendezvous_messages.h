// What ranks and rank 0 send each other over TCP once admitted: a `call`, then its `answer`.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "rdmabench/control/channel.h"
#include "rdmabench/control/rendezvous.h"

namespace rdmabench::control {

enum class RendezvousMessage : std::uint16_t {
  abort = kAbortCode,
  call = first_code(Protocol::rendezvous),
  answer,
};
constexpr std::string_view name_of(RendezvousMessage type) noexcept {
  return message_name(static_cast<std::uint16_t>(type), first_code(Protocol::rendezvous),
                      std::array<std::string_view, 2>{"call", "answer"});
}

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

/// To every call.
struct Answer {
  std::string error;  ///< why it failed; "" when it did not
  std::string value;  ///< of a get
};

/// The longest wait of a call: a day.
inline constexpr std::chrono::milliseconds kMaxWait{86'400'000};

bool is_key(std::string_view text) noexcept;
bool is_value(std::string_view text);  ///< UTF-8 without a NUL, and not too long

std::string to_text(const Call& call);
std::string to_text(const Answer& answer);

// Every one throws Error(failed) that names the field which is missing or out of bounds.
Call parse_call(std::string_view text);
Answer parse_answer(std::string_view text);

}  // namespace rdmabench::control
