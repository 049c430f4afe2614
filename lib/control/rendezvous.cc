#include "rdmabench/control/rendezvous.h"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

#include "launch.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "rendezvous_messages.h"
#include "rendezvous_tcp.h"
#if RDMABENCH_HAVE_PMIX
#include "rendezvous_pmix.h"
#endif

namespace rdmabench::control {
namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

#if RDMABENCH_HAVE_PMIX
bool has_pmix() noexcept {
  return pmix_library() != nullptr;
}

std::unique_ptr<Rendezvous> over_pmix(const RendezvousOptions& options) {
  return std::make_unique<PmixRendezvous>(
      std::make_unique<PmixClient>(*pmix_library(), options.timeout), options.authentication,
      options.timeout);
}
#else
bool has_pmix() noexcept {
  return false;
}

std::unique_ptr<Rendezvous> over_pmix(const RendezvousOptions& /*options*/) {
  return nullptr;  // read_launch() does not choose it
}
#endif

void check_key(std::string_view key) {
  if (is_key(key)) return;
  throw Error(Fault::usage, fmt::format("invalid key '{}'", printable(key, kMaxKey)),
              fmt::format("It has to be 1 to {} of A-Z, a-z, 0-9, '.', '_' and '-'.", kMaxKey));
}

}  // namespace

void Rendezvous::check_put(std::string_view key, std::string_view value) {
  check_key(key);
  if (!is_value(value)) {
    throw Error(Fault::usage, fmt::format("invalid value of '{}' ({} bytes)", key, value.size()),
                fmt::format("It has to be UTF-8 without NUL, and at most {} bytes.", kMaxValue));
  }
  if (!keys_.emplace(key).second) {
    throw Error(Fault::usage, fmt::format("the key '{}' was put before", key));
  }
}

void Rendezvous::check_get(std::uint32_t rank, std::string_view key) const {
  check_key(key);
  if (rank >= place_.size) {
    throw Error(Fault::usage, fmt::format("invalid rank {}", rank),
                fmt::format("Ranks count from 0 to {}.", place_.size - 1));
  }
}

std::unique_ptr<Rendezvous> make_rendezvous(const RendezvousOptions& options) try {
  const Launch launch = read_launch(options, environment, has_pmix);
  if (launch.source == Launch::Source::pmix) return over_pmix(options);
  return std::make_unique<TcpRendezvous>(launch, options.authentication, options.timeout);
} catch (const std::system_error& error) {
  throw Error(Fault::failed, "start a thread", "Raise 'ulimit -u' if it is too low.",
              error.code().value());
}

}  // namespace rdmabench::control
