#include "base/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>

#include "base/number.h"

namespace rdmabench::inline v1 {
namespace {

constexpr std::uint32_t kMappedBits = 96;  // of ::ffff:0.0.0.0/96, where IPv4 addresses are

IpAddress mapped(const in_addr& address) {
  IpAddress found;
  found.bytes[10] = found.bytes[11] = 0xff;
  std::memcpy(found.bytes.data() + 12, &address, sizeof address);
  return found;
}

/// Calls `use` with the addresses of interfaces and their entries, until it returns true, which is
/// returned.
template <class Use>
bool any_interface_address(Use&& use) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return false;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const sockaddr* const socket = entry->ifa_addr;
    const auto address = socket == nullptr ? std::nullopt : address_of(socket->sa_family, socket);
    if (address && use(*address, *entry)) return true;
  }
  return false;
}

}  // namespace

bool is_link_local(const IpAddress& address) noexcept {
  static constexpr IpNetwork kLinkLocal{{{0xfe, 0x80}}, 10};
  return kLinkLocal.has(address);
}

bool is_ipv4(const IpAddress& address) noexcept {
  static constexpr IpNetwork kMapped{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}}, kMappedBits};
  return kMapped.has(address);
}

std::optional<IpAddress> address_of(int family, const void* socket) {
  if (family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, socket, sizeof four);
    return mapped(four.sin_addr);
  }
  if (family != AF_INET6) return std::nullopt;
  sockaddr_in6 six{};
  std::memcpy(&six, socket, sizeof six);
  IpAddress found;
  std::memcpy(found.bytes.data(), &six.sin6_addr, found.bytes.size());
  if (is_link_local(found)) found.scope = six.sin6_scope_id;
  return found;
}

std::optional<IpAddress> parse_ip(std::string_view text) {
  const std::size_t percent = text.find('%');
  const std::string plain(text.substr(0, percent));
  in_addr four{};
  if (inet_pton(AF_INET, plain.c_str(), &four) == 1) return mapped(four);
  IpAddress found;
  if (inet_pton(AF_INET6, plain.c_str(), found.bytes.data()) != 1) return std::nullopt;
  if (percent != std::string_view::npos && is_link_local(found)) {
    found.scope = if_nametoindex(std::string(text.substr(percent + 1)).c_str());
  }
  return found;
}

std::string to_text(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const bool four = is_ipv4(address);
  inet_ntop(four ? AF_INET : AF_INET6, address.bytes.data() + (four ? kMappedBits / 8 : 0), text,
            sizeof text);
  return text;
}

bool IpNetwork::has(const IpAddress& address) const noexcept {
  for (std::uint32_t bit = 0; bit < bits; bit += 8) {
    const std::uint32_t here = std::min(bits - bit, 8U);
    const auto mask = static_cast<std::uint8_t>(0xff00U >> here);
    if (((first.bytes[bit / 8] ^ address.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

std::optional<IpNetwork> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<IpAddress> address = parse_ip(text.substr(0, slash));
  if (!address || text.find('%') != std::string_view::npos) return std::nullopt;
  IpNetwork network{*address, 128};
  if (slash == std::string_view::npos) return network;
  const auto bits = parse_number<std::uint32_t>(text.substr(slash + 1));
  // "::ffff:10.0.0.0/104" counts all bits, "10.0.0.0/8" those of IPv4.
  const bool four = text.substr(0, slash).find(':') == std::string_view::npos;
  if (!bits || *bits > (four ? 32U : 128U)) return std::nullopt;
  // "::ffff:10.0.0.0/8" would be all of IPv4.
  if (!four && is_ipv4(*address) && *bits < kMappedBits) return std::nullopt;
  network.bits = four ? kMappedBits + *bits : *bits;
  return network;
}

bool is_loopback(const IpAddress& address) noexcept {
  IpAddress six;
  six.bytes[15] = 1;
  return address == six || (is_ipv4(address) && address.bytes[12] == 127);
}

bool is_of_this_host(const IpAddress& address) {
  return is_loopback(address) || any_interface_address([&](const IpAddress& own, const ifaddrs&) {
           return own == address;
         });
}

IpNetwork network_beside(const IpAddress& own) {
  constexpr std::uint32_t kSubnetBits = 64;
  if (!is_ipv4(own)) return {own, kSubnetBits};
  IpNetwork network{own, 128};
  any_interface_address([&](const IpAddress& address, const ifaddrs& interface) {
    if (address != own) return false;
    const auto mask = interface.ifa_netmask == nullptr ? std::nullopt
                                                       : address_of(AF_INET, interface.ifa_netmask);
    if (!mask) return true;
    network.bits = kMappedBits;
    for (std::size_t i = kMappedBits / 8; i < mask->bytes.size(); ++i) {
      network.bits += static_cast<std::uint32_t>(std::popcount(mask->bytes[i]));
    }
    return true;
  });
  return network;
}

bool HostAddresses::has(const IpAddress& address, Clock::time_point now) {
  if (is_loopback(address)) return true;
  if (!read_ || now - *read_ >= kFresh) {
    addresses_.clear();
    any_interface_address([&](const IpAddress& own, const ifaddrs&) {
      addresses_.push_back(own);
      return false;
    });
    std::sort(addresses_.begin(), addresses_.end());
    read_ = now;
  }
  return std::binary_search(addresses_.begin(), addresses_.end(), address);
}

std::string host_of(const std::string& peer_ip) {
  static std::mutex mutex;
  static HostAddresses own;
  const std::optional<IpAddress> address = parse_ip(peer_ip);
  if (address) {
    const std::lock_guard lock(mutex);
    if (own.has(*address)) return "this host";
  }
  if (!address || is_ipv4(*address)) return "the address " + peer_ip;
  IpAddress subnet = *address;
  std::fill(subnet.bytes.begin() + 8, subnet.bytes.end(), std::uint8_t{0});
  const std::string where =
      subnet.scope != 0 ? " of interface " + std::to_string(subnet.scope) : "";  // link-local
  return "the network " + to_text(subnet) + "/64" + where;
}

}  // namespace rdmabench::inline v1
