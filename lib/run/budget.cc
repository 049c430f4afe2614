#include "run/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/network.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::run {
namespace {

struct Kind {
  std::uint64_t Usage::*amount;
  std::string_view name;
  std::string_view remedy;       ///< where all clients together have too much ...
  std::string_view each_remedy;  ///< ... and where those of the address do
  std::string_view option;       ///< "" where none raises it; that of the address has another name
  std::string_view each_option;
};

constexpr std::string_view kLess = "Lower `sizes`, `depth` or `queue_pairs`, or try again later";
constexpr std::string_view kUlimit =
    "Lower `threads` or `queue_pairs`, or raise the server's hard limit 'ulimit -Hn'";
constexpr std::array kKinds{
    Kind{&Usage::sessions, "sessions", "Try again when other clients are done",
         "Try again when they are done", "--max-clients", "--max-address-clients"},
    Kind{&Usage::threads, "threads", "Lower `threads`", "Lower `threads`", "--max-threads",
         "--max-address-threads"},
    Kind{&Usage::memory, "bytes", kLess, kLess, "--max-memory", "--max-address-memory"},
    Kind{&Usage::descriptors, "file descriptors", kUlimit, kUlimit, "", ""},
};

/// Sums of requests beyond a limit could wrap: it subtracts.
bool fits(std::uint64_t used, std::uint64_t wanted, std::uint64_t limit) {
  return wanted <= limit && used <= limit - wanted;
}

std::string remedy_of(std::string_view what, std::string_view command, std::string_view option) {
  return fmt::format("{}{}.", what, option.empty() ? "" : or_raise(command, option));
}

[[noreturn]] void refuse(const Kind& kind, const std::string& who, std::uint64_t has,
                         std::uint64_t wanted, std::uint64_t limit, const std::string& remedy) {
  const std::string there = fmt::format("{} {} {} of at most {}", who, has, kind.name, limit);
  if (kind.amount == &Usage::sessions) throw Error(Fault::failed, there, remedy);
  throw Error(Fault::failed,
              fmt::format("this session needs {} {}, and {}", wanted, kind.name, there), remedy);
}

Usage operator+(Usage a, const Usage& b) {
  for (const Kind& kind : kKinds) a.*kind.amount += b.*kind.amount;
  return a;
}

Usage operator-(Usage a, const Usage& b) {
  for (const Kind& kind : kKinds) a.*kind.amount -= b.*kind.amount;
  return a;
}

bool is_nothing(const Usage& usage) {
  return std::all_of(kKinds.begin(), kKinds.end(),
                     [&](const Kind& kind) { return usage.*kind.amount == 0; });
}

}  // namespace

std::string or_raise(std::string_view command, std::string_view option) {
  return command.empty() ? "" : fmt::format(", or raise '{} {}'", command, option);
}

Budget::Share Budget::take(const std::string& address, const Usage& wanted) {
  GiveBack back{address, wanted};
  const std::lock_guard lock(mutex_);
  Usage& own = of_address_[address];
  try {
    for (const Kind& kind : kKinds) {
      const std::uint64_t more = wanted.*kind.amount;
      if (more == 0) continue;
      if (!fits(total_.*kind.amount, more, all_.*kind.amount)) {
        refuse(kind, "this server has", total_.*kind.amount, more, all_.*kind.amount,
               remedy_of(kind.remedy, command_, kind.option));
      }
      if (!fits(own.*kind.amount, more, each_.*kind.amount)) {
        refuse(kind, fmt::format("{} has", address), own.*kind.amount, more, each_.*kind.amount,
               remedy_of(kind.each_remedy, command_, kind.each_option));
      }
    }
  } catch (const Error&) {
    if (is_nothing(own)) of_address_.erase(address);
    throw;
  }
  own = own + wanted;
  total_ = total_ + wanted;
  return {this, std::move(back)};
}

void Budget::give_back(const std::string& address, const Usage& used) noexcept {
  const std::lock_guard lock(mutex_);
  total_ = total_ - used;
  const auto found = of_address_.find(address);
  if (found == of_address_.end()) return;
  found->second = found->second - used;
  if (is_nothing(found->second)) of_address_.erase(found);
}

}  // namespace rdmabench::inline v1::run
