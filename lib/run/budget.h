// What the clients of a server may have of it at once, all together and from each address.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "rdmabench/control/channel.h"

namespace rdmabench::inline v1::run {

/// What a session's messages may take: one of the largest that is not complete yet, and what was
/// read from another one.
inline constexpr std::uint64_t kMemoryOfMessages = 4 * std::uint64_t{control::kMaxPayload};

struct Usage {
  std::uint64_t sessions = 0;
  std::uint64_t threads = 0;
  std::uint64_t memory = 0;  ///< bytes
  std::uint64_t descriptors = 0;
};

/// For a remedy: ", or raise 'rdmabench serve --max-idle'"; "" where there is no such command.
std::string or_raise(std::string_view command, std::string_view option);

/// Thread rule: any thread. It must outlive its shares.
class Budget {
  struct GiveBack {
    std::string address;
    Usage used;
    void operator()(Budget* budget) const noexcept { budget->give_back(address, used); }
  };

 public:
  /// What one session has taken. Gives it back when it goes.
  using Share = std::unique_ptr<Budget, GiveBack>;

  /// `command` has the options that raise the limits; "" = none has.
  Budget(const Usage& all, const Usage& each, std::string command = "")
      : all_(all), each_(each), command_(std::move(command)) {}
  Budget& operator=(Budget&&) = delete;

  /// Takes `wanted` for a client at `address`. Throws Error(failed) that names the limit, who has
  /// how much of it, and the option that raises it; nothing is taken then.
  Share take(const std::string& address, const Usage& wanted);

 private:
  void give_back(const std::string& address, const Usage& used) noexcept;

  Usage all_;
  Usage each_;
  std::string command_;
  std::mutex mutex_;
  Usage total_;
  std::map<std::string, Usage> of_address_;  ///< of those that have something
};

}  // namespace rdmabench::inline v1::run
