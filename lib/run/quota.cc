#include "run/quota.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/network.h"
#include "rdmabench/base/error.h"

namespace rdmabench::run {
namespace {

struct Kind {
  std::uint64_t Usage::*amount;
  std::string_view name;
  std::string_view remedy;       ///< where all clients together have too much ...
  std::string_view each_remedy;  ///< ... and where those of the address do
};

constexpr std::array kKinds{
    Kind{&Usage::sessions, "sessions",
         "Try again when other clients are done, or raise 'rdmabench serve --max-clients'.",
         "Try again when they are done, or raise 'rdmabench serve --max-address-clients'."},
    Kind{&Usage::threads, "threads", "Lower `workers`, or raise 'rdmabench serve --max-threads'.",
         "Lower `workers`, or raise 'rdmabench serve --max-address-threads'."},
    Kind{&Usage::memory, "bytes",
         "Lower `sizes`, `depth` or `queue_pairs`, try again when other clients are done, or raise "
         "'rdmabench serve --max-memory'.",
         "Lower `sizes`, `depth` or `queue_pairs`, try again when its other clients are done, or "
         "raise 'rdmabench serve --max-address-memory'."},
    Kind{&Usage::descriptors, "file descriptors",
         "Lower `workers` or `queue_pairs`, or raise the server's hard limit 'ulimit -Hn'.",
         "Lower `workers` or `queue_pairs`, or raise the server's hard limit 'ulimit -Hn'."},
};

/// Sums of requests beyond a limit could wrap: it subtracts.
bool fits(std::uint64_t used, std::uint64_t wanted, std::uint64_t limit) {
  return wanted <= limit && used <= limit - wanted;
}

[[noreturn]] void refuse(const Kind& kind, const std::string& who, std::uint64_t has,
                         std::uint64_t wanted, std::uint64_t limit, std::string_view remedy) {
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

Quota::Share Quota::take(const std::string& address, const Usage& wanted) {
  GiveBack back{address, wanted};
  const std::lock_guard lock(mutex_);
  Usage& own = of_address_[address];
  try {
    for (const Kind& kind : kKinds) {
      const std::uint64_t more = wanted.*kind.amount;
      if (more == 0) continue;
      if (!fits(total_.*kind.amount, more, all_.*kind.amount)) {
        refuse(kind, "this server has", total_.*kind.amount, more, all_.*kind.amount, kind.remedy);
      }
      if (!fits(own.*kind.amount, more, each_.*kind.amount)) {
        refuse(kind, fmt::format("{} has", address), own.*kind.amount, more, each_.*kind.amount,
               kind.each_remedy);
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

void Quota::give_back(const std::string& address, const Usage& used) noexcept {
  const std::lock_guard lock(mutex_);
  total_ = total_ - used;
  const auto found = of_address_.find(address);
  if (found == of_address_.end()) return;
  found->second = found->second - used;
  if (is_nothing(found->second)) of_address_.erase(found);
}

}  // namespace rdmabench::run
