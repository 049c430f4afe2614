#include "base/network.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>

#include "../interface_reads.h"

namespace rdmabench::inline v1 {
namespace {

bool has(std::string_view network, std::string_view address) {
  return parse_network(network).value().has(parse_ip(address).value());
}

TEST(Network, HasTheAddressesOfItsPrefix) {
  EXPECT_TRUE(has("10.0.0.0/8", "10.255.1.2"));
  EXPECT_FALSE(has("10.0.0.0/8", "11.0.0.1"));
  EXPECT_TRUE(has("10.1.2.128/25", "10.1.2.129"));
  EXPECT_FALSE(has("10.1.2.128/25", "10.1.2.127"));
  EXPECT_TRUE(has("0.0.0.0/0", "192.168.0.1"));
  EXPECT_FALSE(has("0.0.0.0/0", "2001:db8::1"));
  EXPECT_TRUE(has("fe80::/64", "fe80::1"));
  EXPECT_FALSE(has("fe80::/64", "fe80:0:0:1::1"));
  EXPECT_TRUE(has("::/0", "10.0.0.1"));
  EXPECT_TRUE(has("10.0.0.1", "10.0.0.1"));
  EXPECT_FALSE(has("10.0.0.1", "10.0.0.2"));
  EXPECT_TRUE(has("10.0.0.0/8", "::ffff:10.0.0.1"));  // as a GID of RoCE has it
}

TEST(Network, TextThatIsNoneIsNotTaken) {
  for (const char* text : {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x", "10.0.0/8", "fe80::/129",
                           "fe80::/-1", "fe80::%lo/64", "::ffff:10.0.0.0/8", "here"}) {
    EXPECT_FALSE(parse_network(text)) << text;
  }
}

TEST(Network, ALinkLocalAddressIsOneOfItsInterface) {
  EXPECT_NE(parse_ip("fe80::1%lo"), parse_ip("fe80::1"));
  EXPECT_EQ(parse_ip("fe80::1%lo")->scope, if_nametoindex("lo"));
  EXPECT_EQ(parse_ip("2001:db8::1%lo"), parse_ip("2001:db8::1"));
  sockaddr_in6 six{};
  six.sin6_addr.s6_addr[0] = 0xfe;
  six.sin6_addr.s6_addr[1] = 0x80;
  six.sin6_addr.s6_addr[15] = 1;
  six.sin6_scope_id = if_nametoindex("lo");
  EXPECT_EQ(address_of(AF_INET6, &six), parse_ip("fe80::1%lo"));
  six.sin6_scope_id += 1;
  EXPECT_NE(address_of(AF_INET6, &six), parse_ip("fe80::1%lo"));
}

TEST(Network, AnAddressOfThisHostIsKnown) {
  EXPECT_TRUE(is_of_this_host(*parse_ip("127.0.0.1")));
  EXPECT_TRUE(is_of_this_host(*parse_ip("127.8.8.8")));
  EXPECT_TRUE(is_of_this_host(*parse_ip("::1")));
  EXPECT_FALSE(is_of_this_host(*parse_ip("192.0.2.1")));  // for documentation alone (RFC 5737)
}

TEST(HostAddresses, AreReadOnceASecond) {
  HostAddresses own;
  const HostAddresses::Clock::time_point begin{};
  const IpAddress stranger = *parse_ip("192.0.2.1");  // for documentation alone (RFC 5737)
  const int before = interface_reads;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(own.has(stranger, begin));
  EXPECT_EQ(interface_reads, before + 1);
  EXPECT_FALSE(own.has(stranger, begin + HostAddresses::kFresh - std::chrono::nanoseconds(1)));
  EXPECT_EQ(interface_reads, before + 1);
  EXPECT_FALSE(own.has(stranger, begin + HostAddresses::kFresh));
  EXPECT_EQ(interface_reads, before + 2);
}

TEST(HostAddresses, AreThoseOfTheInterfaces) {
  HostAddresses own;
  ifaddrs* list = nullptr;
  ASSERT_EQ(getifaddrs(&list), 0);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const auto address = address_of(entry->ifa_addr->sa_family, entry->ifa_addr);
    EXPECT_TRUE(!address || own.has(*address)) << to_text(address.value_or(IpAddress{}));
  }
  freeifaddrs(list);
}

TEST(HostOf, DoesNotReadTheMachinesAddressesForEachStranger) {
  const auto begin = HostAddresses::Clock::now();
  const int before = interface_reads;
  for (int i = 0; i < 1000; ++i) host_of("192.0.2." + std::to_string(i % 256));
  const auto seconds = (HostAddresses::Clock::now() - begin) / HostAddresses::kFresh;
  EXPECT_LE(interface_reads - before, seconds + 1);
}

TEST(HostOf, CountsThisMachineAndANetworkOfIpv6AsOne) {
  EXPECT_EQ(host_of("127.0.0.1"), "this host");
  EXPECT_EQ(host_of("127.8.8.8"), "this host");
  EXPECT_EQ(host_of("192.0.2.1"), "the address 192.0.2.1");
  EXPECT_EQ(host_of("2001:db8::7"), "the network 2001:db8::/64");
  EXPECT_EQ(host_of("fe80::7%lo"), "the network fe80::/64 of interface 1");
}

}  // namespace
}  // namespace rdmabench::inline v1
