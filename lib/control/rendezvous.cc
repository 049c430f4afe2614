#include "rdmabench/control/rendezvous.h"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

#include "admission.h"
#include "base/refuse.h"
#include "launch.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "secret.h"
#include "tcp.h"
#if RDMABENCH_HAVE_PMIX
#include "rendezvous_pmix.h"
#endif

namespace rdmabench::inline v1::control {
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
      options.launch);
}
#else
bool has_pmix() noexcept {
  return false;
}

std::unique_ptr<Rendezvous> over_pmix(const RendezvousOptions& /*options*/) {
  return nullptr;  // read_launch() does not choose it
}
#endif

/// Whether the name means this host alone, so that no other host needs to reach it.
bool is_loopback(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

/// The ranks were told where rank 0 listens.
class TcpRendezvous : public Rendezvous {
 public:
  TcpRendezvous(const Launch& launch, const RendezvousOptions& options)
      : Rendezvous(launch.place),
        address_(launch.address),
        hosts_(launch.hosts),
        authentication_(launch.place.size == 1 ? Authentication::of_this_process()
                                               : options.authentication.loaded()),
        after_another_(options.launch > 0) {}

  Bootstrap meet(std::string_view /*use*/, std::uint16_t port, Deadline /*deadline*/) override {
    refuse_if(port != 0 && port != address_.port,
              fmt::format("`port` is {}, but rank 0 listens at {}", port,
                          host_and_port(address_.host, address_.port)),
              "Leave `port` out: without PMIx all ranks meet at rank 0's address.");
    const bool local = is_loopback(address_.host);
    Bootstrap found{.address = {.port = address_.port,
                                .addresses = {address_.host},
                                .authentication = authentication_,
                                .may_be_starting = true,
                                .after_another = after_another_}};
    if (place().rank != 0) return found;
    try {
      found.listener.emplace(local ? address_.host : "", address_.port, authentication_);
    } catch (const Error& error) {
      throw Error(
          Fault::failed, fmt::format("rank 0 cannot serve the others: {}", reason_of(error)),
          "Does another job use this port? Set RDMABENCH_RENDEZVOUS=HOST:PORT, alike for all "
          "ranks.");
    }
    found.address.run_id = random_text(kRunIdBytes);
    if (!local) found.address.addresses = {"127.0.0.1"};
    found.address.port = found.listener->port();
    return found;
  }

  std::string host_of(std::uint32_t rank) override {
    return rank < hosts_.size() ? hosts_[rank] : "";
  }

 private:
  Address address_;
  std::vector<std::string> hosts_;
  Authentication authentication_;
  bool after_another_;
};

/// The program tells its ranks where rank 0 listens.
class ToldRendezvous : public Rendezvous {
 public:
  ToldRendezvous(const Launch& launch, const RendezvousOptions& options)
      : Rendezvous(launch.place),
        broadcast_(options.broadcast),
        authentication_(options.authentication) {}

  Bootstrap meet(std::string_view /*use*/, std::uint16_t port, Deadline /*deadline*/) override {
    if (place().rank != 0) return find_rank_0(said_by_rank_0(), authentication_);
    std::optional<Bootstrap> found;
    try {
      found.emplace(listen_as_rank_0(port, authentication_));
    } catch (const std::exception&) {
      broadcast_({});  // the others wait
      throw;
    }
    broadcast_(to_text(found->address));
    return std::move(*found);
  }

 private:
  std::string said_by_rank_0() const {
    std::string said = broadcast_({});
    if (said.empty()) throw Error(Fault::failed, "rank 0 cannot serve the others: see its error");
    return said;
  }

  std::function<std::string(const std::string&)> broadcast_;
  Authentication authentication_;
};

}  // namespace

std::unique_ptr<Rendezvous> make_rendezvous(const RendezvousOptions& options) try {
  const Launch launch = read_launch(options, environment, has_pmix);
  if (options.broadcast) return std::make_unique<ToldRendezvous>(launch, options);
  if (launch.source == Launch::Source::pmix) return over_pmix(options);
  return std::make_unique<TcpRendezvous>(launch, options);
} catch (const std::system_error& error) {
  throw Error(Fault::failed, "start a thread", "Raise 'ulimit -u' if it is too low.",
              error.code().value());
}

}  // namespace rdmabench::inline v1::control
