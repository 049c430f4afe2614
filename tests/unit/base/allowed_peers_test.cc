#include "base/allowed_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {
namespace {

AllowedPeers peers(std::vector<std::string> allow, std::vector<std::string> providers = {},
                   const std::string& peer = "192.0.2.7") {
  return {peer, "192.0.2.1", parse_allowed(allow, providers)};
}

IpAddress ip(std::string_view text) {
  return parse_ip(text).value();
}

TEST(AllowedPeers, ThePeerOfTheControlConnectionIsAllowedAndNobodyElse) {
  const AllowedPeers known = peers({});
  EXPECT_NO_THROW(known.check_ip(ip("192.0.2.7")));
  EXPECT_THAT(error_text([&] { known.check_ip(ip("192.0.2.8")); }),
              has_all("192.0.2.7 names 192.0.2.8", "--allow 192.0.2.8"));
  EXPECT_THROW(known.check_ip(ip("127.0.0.1")), Error);  // this host is another client's
  EXPECT_NO_THROW(peers({}, {}, "127.0.0.1").check_ip(ip("127.0.0.2")));
}

TEST(AllowedPeers, ALinkLocalPeerIsAllowedOnItsOwnLinkAlone) {
  const AllowedPeers known = peers({}, {}, "fe80::bad%lo");
  EXPECT_NO_THROW(known.check_ip(ip("fe80::bad%lo")));
  IpAddress elsewhere = ip("fe80::bad%lo");
  ++elsewhere.scope;
  EXPECT_THROW(known.check_ip(elsewhere), Error);
  EXPECT_THROW(known.check_ip(ip("127.0.0.1")), Error);
  EXPECT_NO_THROW(peers({"fe80::/64"}).check_ip(elsewhere));
}

TEST(AllowedPeers, ANetworkOfTheOperatorIsAllowed) {
  const AllowedPeers known = peers({"198.51.100.0/24"});
  EXPECT_NO_THROW(known.check_ip(ip("198.51.100.9")));
  EXPECT_THROW(known.check_ip(ip("198.51.101.9")), Error);
  EXPECT_NO_THROW(peers({"any"}).check_ip(ip("203.0.113.1")));
}

TEST(AllowedPeers, AGidIsAnAddressOrAllowedByPrefixOrLid) {
  const IpAddress link_local = ip("fe80::5054:ff:fe12:3456");
  const IpAddress other = ip("2001:db8::1");  // subnet of this side
  EXPECT_NO_THROW(peers({}).check_gid(ip("::ffff:192.0.2.7"), 0, other, false));  // RoCE v2
  EXPECT_THROW(peers({}).check_gid(ip("::ffff:192.0.2.8"), 0, other, false), Error);
  EXPECT_THAT(error_text([&] { peers({}).check_gid(link_local, 12, other, false); }),
              has_all("LID 12", "fe80::/64", "lid:FIRST-LAST"));
  EXPECT_NO_THROW(peers({"fe80::/64"}).check_gid(link_local, 12, other, false));
  EXPECT_NO_THROW(peers({"lid:10-12"}).check_gid(link_local, 12, other, false));
  EXPECT_THROW(peers({"lid:10-12"}).check_gid(link_local, 13, other, false), Error);
  EXPECT_THROW(peers({"lid:0-12"}).check_gid(link_local, 0, other, false), Error);  // it has none
  // Ours, and the peer is not here.
  EXPECT_THROW(peers({}).check_gid(link_local, 0, other, true), Error);
  EXPECT_NO_THROW(peers({}, {}, "127.0.0.1").check_gid(link_local, 0, other, true));
}

TEST(AllowedPeers, TheSubnetOfTheDeviceIsAllowedUnlessTheOperatorNamesOthers) {
  const IpAddress peer = ip("fe80::5054:ff:fe12:3456");
  const IpAddress local = ip("fe80::5054:ff:fe12:1");
  EXPECT_NO_THROW(peers({}).check_gid(peer, 12, local, false));
  EXPECT_THROW(peers({"10.0.0.0/8"}).check_gid(peer, 12, local, false), Error);
  EXPECT_THROW(peers({"lid:1-2"}).check_gid(peer, 12, local, false), Error);
  EXPECT_NO_THROW(peers({}).check_gid(ip("::ffff:127.9.9.9"), 0, ip("127.0.0.1"), false));
  EXPECT_THROW(peers({}).check_gid(ip("::ffff:128.0.0.1"), 0, ip("127.0.0.1"), false), Error);
  // Of an address that no interface here has, the network is not known.
  EXPECT_THROW(peers({}).check_gid(ip("192.0.2.9"), 0, ip("192.0.2.10"), false), Error);
}

TEST(AllowedPeers, AProviderIsNamedOrForThisMachine) {
  EXPECT_THAT(error_text([&] { peers({}).check_provider("psm2", "why"); }),
              has_all("192.0.2.7: why", "`allow_providers` psm2", "--allow-provider psm2"));
  EXPECT_NO_THROW(peers({}, {"udp"}).check_provider("udp;ofi_rxd", "why"));
  EXPECT_NO_THROW(peers({}, {}, "127.0.0.1").check_provider("psm2", "why"));
  EXPECT_THAT(error_text([&] { peers({}, {}, "127.0.0.1").check_named("ucx", "why"); }),
              has_all("127.0.0.1: why", "--allow-provider ucx"));
  EXPECT_NO_THROW(peers({}, {"any"}).check_named("ucx", "why"));
}

TEST(AllowedPeers, AProviderThatNobodyKnowsIsRefused) {
  EXPECT_NO_THROW(peers({}, {"any", "shm", "tcp;ofi_rxm", "udp;ofi_rxd"}));
  for (const char* text : {"", "nonsense", "tcp,shm", "Shm", ";ofi_rxm"}) {
    EXPECT_THAT(error_text([&] { peers({}, {text}); }),
                has_all("`allow_providers` '" + std::string(text) + "'", "tcp, ucx, udp"))
        << text;
  }
}

TEST(AllowedPeers, TextThatNamesNothingIsRefused) {
  for (const char* text : {"", "here", "10.0.0.0/33", "lid:", "lid:2-1", "lid:70000", "lid:1-"}) {
    EXPECT_THROW(peers({text}), Error) << text;
  }
}

}  // namespace
}  // namespace rdmabench::inline v1
