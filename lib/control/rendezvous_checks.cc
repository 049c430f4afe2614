#include "rendezvous_checks.h"

#include <fmt/format.h>

#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rendezvous_messages.h"

namespace rdmabench::control {
namespace {

void check_key(std::string_view key) {
  if (is_key(key)) return;
  throw Error(Fault::usage, fmt::format("the key '{}'", printable(key, kMaxKey)),
              fmt::format("It has to be 1 to {} of A-Z, a-z, 0-9, '.', '_' and '-'.", kMaxKey));
}

}  // namespace

void RendezvousChecks::put(std::string_view key, std::string_view value) {
  check_key(key);
  if (!is_value(value)) {
    throw Error(Fault::usage, fmt::format("the value of '{}', of {} bytes", key, value.size()),
                fmt::format("It has to be UTF-8 without NUL, and at most {} bytes.", kMaxValue));
  }
  if (!keys_.emplace(key).second) {
    throw Error(Fault::usage, fmt::format("the key '{}' was put before", key));
  }
}

void RendezvousChecks::get(std::uint32_t rank, std::string_view key) const {
  check_key(key);
  if (rank >= size_) {
    throw Error(Fault::usage, fmt::format("a key of rank {}", rank),
                fmt::format("Ranks count from 0 to {}.", size_ - 1));
  }
}

}  // namespace rdmabench::control
