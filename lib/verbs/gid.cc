#include "rdmabench/verbs/device.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/network.h"
#include "rdmabench/base/handle.h"
#include "verbs/setup_error.h"

namespace rdmabench::inline v1::verbs {
namespace {

constexpr std::array kTypeNames{std::string_view("InfiniBand"), std::string_view("RoCE v1"),
                                std::string_view("RoCE v2")};

using AddressList = Handle<ifaddrs, freeifaddrs>;

AddressList interface_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return nullptr;  // then prefix lengths stay unknown
  return AddressList(list);
}

int prefix_bits(const Gid& mask) {
  constexpr std::size_t kMappedBytes = 12;  // of ::ffff:0.0.0.0/96
  int bits = 0;
  for (std::size_t i = is_ipv4(mask) ? kMappedBytes : 0; i < mask.raw.size(); ++i) {
    bits += std::popcount(mask.raw[i]);
  }
  return bits;
}

int find_prefix_length(const ifaddrs* list, const Gid& gid, std::string_view interface) {
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_netmask == nullptr || at->ifa_name != interface) continue;
    if (at->ifa_addr != nullptr && from_socket_address(*at->ifa_addr) == gid) {
      return prefix_bits(from_socket_address(*at->ifa_netmask));
    }
  }
  return -1;
}

GidType gid_type(std::uint32_t type) {
  if (type == IBV_GID_TYPE_ROCE_V2) return GidType::roce_v2;
  return type == IBV_GID_TYPE_ROCE_V1 ? GidType::roce_v1 : GidType::ib;
}

std::string interface_name(std::uint32_t index) {
  char text[IF_NAMESIZE];
  return index != 0 && if_indextoname(index, text) != nullptr ? text : "";
}

/// Upper bound of the number of GIDs of all ports.
std::size_t gid_capacity(ibv_context& context) {
  const ibv_device_attr device = query_device(context);
  std::size_t capacity = 0;
  for (int port = 1; port <= device.phys_port_cnt; ++port) {
    capacity += static_cast<std::size_t>(
        std::max(query_port(context, static_cast<std::uint8_t>(port)).gid_tbl_len, 0));
  }
  return capacity;
}

}  // namespace

bool is_ipv4(const Gid& gid) noexcept {
  return rdmabench::is_ipv4(IpAddress{gid.raw});
}

bool is_link_local(const Gid& gid) noexcept {
  if (is_ipv4(gid)) return gid.raw[12] == 169 && gid.raw[13] == 254;
  return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}

std::uint64_t subnet_prefix(const Gid& gid) noexcept {
  std::uint64_t prefix = 0;
  for (std::size_t i = 0; i < sizeof prefix; ++i) prefix = prefix << 8 | gid.raw[i];
  return prefix;
}

Gid from_socket_address(const sockaddr& address) noexcept {
  return {address_of(address.sa_family, &address).value_or(IpAddress()).bytes};
}

std::string to_text(const Gid& gid) {
  return rdmabench::to_text(IpAddress{gid.raw});
}

std::optional<Gid> parse_gid(std::string_view text) {
  const std::optional<IpAddress> address = parse_ip(text);
  return address ? std::optional(Gid{address->bytes}) : std::nullopt;
}

std::string_view name(GidType type) noexcept {
  return kTypeNames[static_cast<std::size_t>(type)];
}

std::optional<GidType> parse_gid_type(std::string_view text) noexcept {
  const auto* found = std::find(kTypeNames.begin(), kTypeNames.end(), text);
  if (found == kTypeNames.end()) return std::nullopt;
  return static_cast<GidType>(found - kTypeNames.begin());
}

std::string to_text(const GidEntry& entry) {
  std::string text = fmt::format("{} GID {} {}", name(entry.type), entry.index, to_text(entry.gid));
  if (entry.prefix_length >= 0) text += fmt::format("/{}", entry.prefix_length);
  if (!entry.interface.empty()) text += fmt::format(" ({})", entry.interface);
  return text;
}

std::vector<GidEntry> read_gid_table(ibv_context& context, std::uint8_t port) {
  std::vector<ibv_gid_entry> raw(gid_capacity(context));
  if (raw.empty()) return {};
  const ssize_t count = ibv_query_gid_table(&context, raw.data(), raw.size(), 0);
  if (count < 0) {
    throw setup_error(SetupCall::query_gid,
                      fmt::format("ibv_query_gid_table({})", ibv_get_device_name(context.device)),
                      static_cast<int>(-count), {.context = &context});
  }
  raw.resize(static_cast<std::size_t>(count));

  const AddressList addresses = interface_addresses();
  std::vector<GidEntry> entries;
  for (const ibv_gid_entry& from : raw) {
    if (from.port_num != port) continue;
    GidEntry& entry = entries.emplace_back();
    entry.index = from.gid_index;
    std::memcpy(entry.gid.raw.data(), from.gid.raw, sizeof from.gid.raw);
    entry.type = gid_type(from.gid_type);
    entry.interface = interface_name(from.ndev_ifindex);
    entry.prefix_length = find_prefix_length(addresses.get(), entry.gid, entry.interface);
  }
  std::sort(entries.begin(), entries.end(),
            [](const GidEntry& a, const GidEntry& b) { return a.index < b.index; });
  return entries;
}

}  // namespace rdmabench::inline v1::verbs
