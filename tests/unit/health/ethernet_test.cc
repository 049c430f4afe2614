// Answers as drivers give them: mlx5 (en_dcbnl.c, en_ethtool.c) and bnxt (bnxt_dcb.c,
// bnxt_ethtool.c) of Linux 6.12.
#include "health/ethernet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>

#include "base/descriptor.h"
#include "base/text.h"
#include "rdmabench/base/handle.h"

namespace rdmabench::inline v1::health {
namespace {

using testing::HasSubstr;
using testing::Not;
using Bytes = std::vector<std::byte>;
using Answers = std::map<EthernetQuestion, Bytes>;

Bytes attribute(int type, const Bytes& value) {
  nlattr head{};
  head.nla_len = static_cast<std::uint16_t>(sizeof head + value.size());
  head.nla_type = static_cast<std::uint16_t>(type);
  Bytes bytes(sizeof head);
  std::memcpy(bytes.data(), &head, sizeof head);
  bytes.insert(bytes.end(), value.begin(), value.end());
  bytes.resize((bytes.size() + 3) / 4 * 4);
  return bytes;
}

template <class T>
Bytes attribute(int type, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return attribute(type, Bytes(bytes.begin(), bytes.end()));
}

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Bytes header() {
  return attribute(1 | NLA_F_NESTED, attribute(ETHTOOL_A_HEADER_DEV_NAME, Bytes(5)));
}

Bytes dcb(std::uint8_t enabled, std::initializer_list<dcb_app> rows, std::uint64_t frames = 0,
          const Bytes& trust = {}) {
  ieee_pfc pfc{};
  pfc.pfc_cap = 8;
  pfc.pfc_en = enabled;
  pfc.requests[3] = frames;
  Bytes table;
  for (const dcb_app& row : rows) table = joined({table, attribute(DCB_ATTR_IEEE_APP, row)});
  const Bytes settings =
      joined({attribute(DCB_ATTR_IEEE_ETS, ieee_ets{}), attribute(DCB_ATTR_IEEE_PFC, pfc),
              attribute(DCB_ATTR_IEEE_APP_TABLE | NLA_F_NESTED, table),
              attribute(11 | NLA_F_NESTED, trust)});  // DCB_ATTR_DCB_APP_TRUST_TABLE
  return joined(
      {attribute(DCB_ATTR_IFNAME, Bytes(5)), attribute(DCB_ATTR_IEEE | NLA_F_NESTED, settings)});
}

Bytes fec(std::uint32_t mode, const Bytes& stats) {
  return joined({header(), attribute(ETHTOOL_A_FEC_MODES | NLA_F_NESTED, Bytes(24)),
                 attribute(ETHTOOL_A_FEC_AUTO, std::uint8_t{1}),
                 attribute(ETHTOOL_A_FEC_ACTIVE, mode),
                 attribute(ETHTOOL_A_FEC_STATS | NLA_F_NESTED, stats)});
}

/// Half of a module's 256 bytes.
Bytes module_half(std::initializer_list<std::pair<std::size_t, std::string>> texts,
                  std::uint8_t first) {
  Bytes half(128, std::byte{0});
  half[0] = std::byte{first};
  for (const auto& [at, text] : texts) std::memcpy(half.data() + at, text.data(), text.size());
  return joined({header(), attribute(ETHTOOL_A_MODULE_EEPROM_DATA, half)});
}

Answers mlx5() {
  const std::uint64_t blocks[]{7, 7, 0};  // all, and of two lanes
  return {
      {EthernetQuestion::pause,
       joined({header(), attribute(ETHTOOL_A_PAUSE_AUTONEG, std::uint8_t{0}),
               attribute(ETHTOOL_A_PAUSE_RX, std::uint8_t{1}),
               attribute(ETHTOOL_A_PAUSE_TX, std::uint8_t{0})})},
      {EthernetQuestion::rings,
       joined({header(), attribute(ETHTOOL_A_RINGS_RX_MAX, 8192U),
               attribute(ETHTOOL_A_RINGS_RX, 1024U), attribute(ETHTOOL_A_RINGS_TX_MAX, 8192U),
               attribute(ETHTOOL_A_RINGS_TX, 512U)})},
      {EthernetQuestion::fec,
       fec(ETHTOOL_LINK_MODE_FEC_RS_BIT, attribute(ETHTOOL_A_FEC_STAT_UNCORR, blocks))},
      {EthernetQuestion::module_low, module_half({}, 0x11)},
      {EthernetQuestion::module_high,
       module_half({{20, "Mellanox        "}, {40, "MCP1650-H003E26 "}}, 0x11)},
      {EthernetQuestion::dcb, dcb(0x08, {{IEEE_8021QAZ_APP_SEL_DSCP, 3, 26},
                                         {IEEE_8021QAZ_APP_SEL_ETHERTYPE, 4, 0x8915},
                                         {IEEE_8021QAZ_APP_SEL_DSCP, 6, 48}})},
  };
}

std::string facts(const Answers& answers) {
  return ethernet_facts(
      [&](EthernetQuestion question, const std::string&) {
        const auto found = answers.find(question);
        return found == answers.end() ? Bytes{} : found->second;
      },
      "eth0");
}

TEST(Ethernet, WhatMlx5Answers) {
  EXPECT_EQ(facts(mlx5()),
            "pause rx=on tx=off\n"
            "rings rx=1024 rx_max=8192 tx=512 tx_max=8192\n"
            "fec active=rs uncorrected=7\n"
            "module QSFP28+ Mellanox MCP1650-H003E26\n"
            "pfc 3\nprio:3 dscp:26\nprio:6 dscp:48\n");
}

TEST(Ethernet, WhatBnxtAnswers) {
  // It has no statistics of FEC by block on all firmware; the module has CMIS.
  EXPECT_EQ(facts({{EthernetQuestion::fec, fec(ETHTOOL_LINK_MODE_FEC_LLRS_BIT, {})},
                   {EthernetQuestion::module_low, module_half({}, 0x18)},
                   {EthernetQuestion::module_high,
                    module_half({{1, "AMPHENOL\x1b[2J    "}, {20, "NJAAKN-0001     "}}, 0)},
                   {EthernetQuestion::dcb, dcb(0x28, {})}}),
            "fec active=llrs\nmodule QSFP-DD AMPHENOL?[2J NJAAKN-0001\npfc 3+5\n");
}

TEST(Ethernet, PauseFramesAndTheOrderOfTrust) {
  EXPECT_EQ(facts({{EthernetQuestion::dcb, dcb(8, {}, 12345)}}),
            "pfc 3\npfc_frames prio=3 rx=0 tx=12345\n");
  const Bytes dscp = attribute(DCB_ATTR_IEEE_APP, std::uint8_t{5});
  const Bytes pcp = attribute(2, std::uint8_t{255});  // DCB_ATTR_DCB_APP, DCB_APP_SEL_PCP
  EXPECT_EQ(facts({{EthernetQuestion::dcb, dcb(8, {}, 0, joined({dscp, pcp}))}}),
            "pfc 3\ntrust dscp\n");
  EXPECT_EQ(facts({{EthernetQuestion::dcb, dcb(8, {}, 0, joined({pcp, dscp}))}}),
            "pfc 3\ntrust pcp\n");
}

TEST(Ethernet, WhatIsNotToldHasNoLine) {
  EXPECT_EQ(facts({}), "");
  EXPECT_EQ(facts({{EthernetQuestion::dcb, dcb(0, {})}}), "pfc none\n");
  EXPECT_EQ(facts({{EthernetQuestion::fec,
                    joined({header(), attribute(ETHTOOL_A_FEC_AUTO, std::uint8_t{1})})}}),
            "fec active=unknown\n");
  EXPECT_EQ(facts({{EthernetQuestion::fec, fec(ETHTOOL_LINK_MODE_FEC_NONE_BIT, {})}}),
            "fec active=none\n");
  EXPECT_EQ(facts({{EthernetQuestion::module_low, module_half({}, 0x42)}}), "module kind 0x42\n");
}

TEST(Ethernet, AnAnswerMayEndAnywhere) {
  const Answers whole = mlx5();
  const std::string all = facts(whole) + "fec active=rs\nfec active=unknown\n";
  for (const auto& [question, bytes] : whole) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      Answers cut = whole;
      cut[question].resize(size);
      cut[question].shrink_to_fit();
      // Each line is whole, or not there.
      const std::string text = facts(cut);
      for (const std::string_view line : lines_of(text)) {
        EXPECT_THAT(all, HasSubstr(std::string(line) + "\n")) << size;
      }
    }
  }
}

TEST(Ethernet, TheKernelSaysBothWaysHowLargeTheRingsAre) {
  const EthernetKernel kernel = live_ethernet_kernel();
  int with_rings = 0;
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_GE(any.get(), 0);
  const Handle<struct if_nameindex, if_freenameindex> names(if_nameindex());
  ASSERT_NE(names, nullptr);
  for (const struct if_nameindex* entry = names.get(); entry->if_index != 0; ++entry) {
    const std::string name = entry->if_name;
    ethtool_ringparam rings{};
    rings.cmd = ETHTOOL_GRINGPARAM;
    ifreq request{};
    ASSERT_LT(name.size(), sizeof request.ifr_name);
    std::copy(name.begin(), name.end(), request.ifr_name);
    request.ifr_data = reinterpret_cast<char*>(&rings);
    const bool has = ioctl(any.get(), SIOCETHTOOL, &request) == 0;
    with_rings += has ? 1 : 0;
    const std::string line = "rings rx=" + std::to_string(rings.rx_pending) +
                             " rx_max=" + std::to_string(rings.rx_max_pending) +
                             " tx=" + std::to_string(rings.tx_pending) +
                             " tx_max=" + std::to_string(rings.tx_max_pending) + "\n";
    const testing::Matcher<std::string> said = HasSubstr(line), not_said = Not(HasSubstr("rings"));
    EXPECT_THAT(ethernet_facts(kernel, name), has ? said : not_said) << name;
  }
  EXPECT_EQ(ethernet_facts(kernel, "nothere"), "");
  if (with_rings == 0) GTEST_SKIP() << "no network device here has rings";
}

}  // namespace
}  // namespace rdmabench::inline v1::health
