#include "rdmabench/control/bootstrap_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>

#include "rdmabench/base/error.h"
#include "rdmabench/control/fields.h"

namespace rdmabench::control {
namespace {

constexpr std::size_t kMaxAddresses = 256;
constexpr std::size_t kMaxToken = 64;     // bytes
constexpr std::size_t kMaxAddress = 256;  // bytes

/// As text; "" for one that another machine cannot use.
std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address == nullptr) return "";
  if (address->sa_family == AF_INET) {
    const auto* const in = reinterpret_cast<const sockaddr_in*>(address);
    return inet_ntop(AF_INET, &in->sin_addr, text.data(), text.size()) != nullptr ? text.data()
                                                                                  : "";
  }
  if (address->sa_family != AF_INET6) return "";
  const auto* const in = reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_LINKLOCAL(&in->sin6_addr)) return "";
  return inet_ntop(AF_INET6, &in->sin6_addr, text.data(), text.size()) != nullptr ? text.data()
                                                                                  : "";
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

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(Fault::failed, "getrandom()", {}, errno);
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

BootstrapAddress make_bootstrap_address(std::uint16_t port) {
  return {.token = random_token(), .port = port, .addresses = own_addresses()};
}

std::string to_text(const BootstrapAddress& bootstrap_address) {
  const nlohmann::ordered_json json = {{"token", bootstrap_address.token},
                                       {"port", bootstrap_address.port},
                                       {"addresses", bootstrap_address.addresses}};
  return json.dump();
}

BootstrapAddress parse_bootstrap_address(std::string_view text) {
  const nlohmann::json json = parse_object(text, "invitation");
  BootstrapAddress bootstrap_address{.token = get_string(json, "token", kMaxToken),
                                     .port = get_uint<std::uint16_t>(json, "port", 1)};
  for (const nlohmann::json& address : get_list(json, "addresses", kMaxAddresses)) {
    if (!address.is_string() || address.get_ref<const std::string&>().size() > kMaxAddress) {
      throw Error(Fault::failed, "an invitation with an address that is no text");
    }
    bootstrap_address.addresses.push_back(address);
  }
  return bootstrap_address;
}

}  // namespace rdmabench::control
