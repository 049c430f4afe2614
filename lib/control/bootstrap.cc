#include "rdmabench/control/rendezvous.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "admission.h"
#include "base/network.h"
#include "rdmabench/base/error.h"
#include "secret.h"

namespace rdmabench::inline v1::control {
namespace {

constexpr std::size_t kMaxAddresses = 256;
constexpr std::size_t kMaxAddress = 256;  // bytes

/// As text; "" for one that another machine cannot use.
std::string text_of(const sockaddr* address) {
  if (address == nullptr) return "";
  const std::optional<IpAddress> ip = rdmabench::address_of(address->sa_family, address);
  return !ip || is_link_local(*ip) ? "" : to_text(*ip);
}

/// IPv4 first; the loopback's only where there is no other.
std::vector<std::string> own_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw Error(Fault::failed, "getifaddrs()", {}, errno);
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &freeifaddrs);
  std::vector<std::string> addresses;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if ((one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const std::string text = text_of(one->ifa_addr);
    if (!text.empty() && addresses.size() < kMaxAddresses) addresses.push_back(text);
  }
  std::stable_partition(addresses.begin(), addresses.end(), [](const std::string& text) {
    return text.find(':') == std::string::npos;
  });
  if (addresses.empty()) addresses.emplace_back("127.0.0.1");
  return addresses;
}

Authentication of_run(const BootstrapAddress& address, const Authentication& wanted) {
  return wanted.is_insecure() ? wanted : Authentication::secret(address.key);
}

}  // namespace

BootstrapAddress make_bootstrap_address(std::uint16_t port) {
  return {.run_id = random_text(kRunIdBytes),
          .port = port,
          .addresses = own_addresses(),
          .key = random_text(kMinSecret)};
}

Bootstrap listen_as_rank_0(std::uint16_t port, const Authentication& authentication) {
  Bootstrap found{.address = make_bootstrap_address(port)};
  found.address.authentication = of_run(found.address, authentication);
  found.listener.emplace("", port, found.address.authentication);
  found.address.port = found.listener->port();
  return found;
}

Bootstrap find_rank_0(std::string_view published, const Authentication& authentication) {
  Bootstrap found{.address = parse<BootstrapAddress>(std::string(published))};
  found.address.authentication = of_run(found.address, authentication);
  return found;
}

void walk(MessageFields& fields, BootstrapAddress& address) {
  fields.text("run_id", address.run_id, kMaxRunId);
  fields.text("key", address.key, 2 * kMinSecret);
  fields.number("port", 1, 65535, address.port);
  fields.texts("addresses", kMaxAddresses, kMaxAddress, address.addresses);
}

}  // namespace rdmabench::inline v1::control
