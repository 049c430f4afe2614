#include "ethernet.h"

#include <fmt/format.h>
#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/descriptor.h"
#include "base/text.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::health {
namespace {

using Bytes = std::vector<std::byte>;
using View = std::span<const std::byte>;

// Of Linux 6.2: DCB_ATTR_DCB_APP_TRUST_TABLE and DCB_APP_SEL_PCP, which older headers lack.
constexpr int kAppTrustTable = 11;
constexpr std::uint8_t kSelectPcp = 255;
constexpr std::uint32_t kModuleBytes = 128;
constexpr std::uint8_t kModuleAddress = 0x50;  // on the module's I2C bus

template <class T>
View bytes_of(const T& object) {
  return std::as_bytes(std::span(&object, 1));
}

void append(Bytes& to, View bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
  to.resize(NLA_ALIGN(to.size()));
}

void append_attribute(Bytes& to, int type, View value) {
  nlattr head{};
  head.nla_len = static_cast<std::uint16_t>(sizeof head + value.size());
  head.nla_type = static_cast<std::uint16_t>(type);
  append(to, bytes_of(head));
  append(to, value);
}

/// With the zero at its end.
View text_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.c_str(), text.size() + 1));
}

template <class Take>  // (int type, View value)
void for_each_attribute(View attributes, const Take& take) {
  while (attributes.size() >= sizeof(nlattr)) {
    nlattr head{};
    std::memcpy(&head, attributes.data(), sizeof head);
    if (head.nla_len < sizeof head || head.nla_len > attributes.size()) return;
    take(head.nla_type & NLA_TYPE_MASK,
         attributes.subspan(sizeof head, head.nla_len - sizeof head));
    attributes =
        attributes.subspan(std::min<std::size_t>(NLA_ALIGN(head.nla_len), attributes.size()));
  }
}

/// Nothing where it is missing.
View attribute(View attributes, int wanted) {
  View found;
  for_each_attribute(attributes, [&](int type, View value) {
    if (type == wanted) found = value;
  });
  return found;
}

/// None where the bytes are too few.
template <class T>
std::optional<T> read_as(View bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T found{};
  std::memcpy(&found, bytes.data(), sizeof found);
  return found;
}

template <class T>
std::optional<T> value(View attributes, int type) {
  return read_as<T>(attribute(attributes, type));
}

class Socket {
 public:
  explicit Socket(int protocol)
      : descriptor_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol)) {}

  /// What follows the netlink header of the answer; nothing where the kernel refuses. send()
  /// returns when the driver has answered.
  Bytes ask(std::uint16_t type, View body) const {
    nlmsghdr head{};
    head.nlmsg_len = static_cast<std::uint32_t>(sizeof head + body.size());
    head.nlmsg_type = type;
    head.nlmsg_flags = NLM_F_REQUEST;
    Bytes message;
    append(message, bytes_of(head));
    append(message, body);
    if (descriptor_.get() < 0 || send(descriptor_.get(), message.data(), message.size(), 0) < 0) {
      return {};
    }
    Bytes answer(16384);
    const ssize_t got = recv(descriptor_.get(), answer.data(), answer.size(), MSG_DONTWAIT);
    if (got < static_cast<ssize_t>(sizeof head)) return {};
    std::memcpy(&head, answer.data(), sizeof head);
    if (head.nlmsg_type == NLMSG_ERROR || head.nlmsg_len < sizeof head ||
        head.nlmsg_len > static_cast<std::size_t>(got)) {
      return {};
    }
    return {answer.begin() + sizeof head, answer.begin() + head.nlmsg_len};
  }

  /// The attributes of an answer that begins with a Head of its own.
  template <class Head>
  Bytes ask_about(std::uint16_t type, const Head& head, View attributes) const {
    Bytes body;
    append(body, bytes_of(head));
    append(body, attributes);
    Bytes answer = ask(type, body);
    answer.erase(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(
                                                      std::min(sizeof(Head), answer.size())));
    return answer;
  }

 private:
  Descriptor descriptor_;
};

genlmsghdr command(int number, int version) {
  genlmsghdr head{};
  head.cmd = static_cast<std::uint8_t>(number);
  head.version = static_cast<std::uint8_t>(version);
  return head;
}

class Kernel {
 public:
  Kernel() {
    Bytes attributes;
    append_attribute(attributes, CTRL_ATTR_FAMILY_NAME, text_bytes(ETHTOOL_GENL_NAME));
    const Bytes answer =
        generic_.ask_about(GENL_ID_CTRL, command(CTRL_CMD_GETFAMILY, 1), attributes);
    ethtool_ = value<std::uint16_t>(answer, CTRL_ATTR_FAMILY_ID).value_or(0);
  }

  Bytes operator()(EthernetQuestion question, const std::string& interface) const {
    switch (question) {
      case EthernetQuestion::pause:
        return ethtool(ETHTOOL_MSG_PAUSE_GET, interface);
      case EthernetQuestion::rings:
        return ethtool(ETHTOOL_MSG_RINGS_GET, interface);
      case EthernetQuestion::fec:
        return ethtool(ETHTOOL_MSG_FEC_GET, interface);
      case EthernetQuestion::module_low:
        return module_bytes(interface, 0);
      case EthernetQuestion::module_high:
        return module_bytes(interface, kModuleBytes);
      case EthernetQuestion::dcb:
        return dcb(interface);
    }
    return {};
  }

 private:
  Bytes ethtool(int message, const std::string& interface, View more = {}) const {
    if (ethtool_ == 0) return {};
    Bytes about;
    append_attribute(about, ETHTOOL_A_HEADER_DEV_NAME, text_bytes(interface));
    if (message == ETHTOOL_MSG_FEC_GET) {  // others refuse what they have not
      const std::uint32_t flags = ETHTOOL_FLAG_STATS;
      append_attribute(about, ETHTOOL_A_HEADER_FLAGS, bytes_of(flags));
    }
    Bytes attributes;
    append_attribute(attributes, ETHTOOL_A_PAUSE_HEADER | NLA_F_NESTED,
                     about);  // 1 in each message
    append(attributes, more);
    return generic_.ask_about(ethtool_, command(message, ETHTOOL_GENL_VERSION), attributes);
  }

  Bytes module_bytes(const std::string& interface, std::uint32_t offset) const {
    const std::uint8_t page = 0;
    Bytes place;
    append_attribute(place, ETHTOOL_A_MODULE_EEPROM_OFFSET, bytes_of(offset));
    append_attribute(place, ETHTOOL_A_MODULE_EEPROM_LENGTH, bytes_of(kModuleBytes));
    append_attribute(place, ETHTOOL_A_MODULE_EEPROM_PAGE, bytes_of(page));
    append_attribute(place, ETHTOOL_A_MODULE_EEPROM_BANK, bytes_of(page));
    append_attribute(place, ETHTOOL_A_MODULE_EEPROM_I2C_ADDRESS, bytes_of(kModuleAddress));
    return ethtool(ETHTOOL_MSG_MODULE_EEPROM_GET, interface, place);
  }

  Bytes dcb(const std::string& interface) const {
    dcbmsg head{};
    head.cmd = DCB_CMD_IEEE_GET;
    Bytes attributes;
    append_attribute(attributes, DCB_ATTR_IFNAME, text_bytes(interface));
    return route_.ask_about(RTM_GETDCB, head, attributes);
  }

  Socket generic_{NETLINK_GENERIC};
  Socket route_{NETLINK_ROUTE};
  std::uint16_t ethtool_ = 0;  ///< the family's number; 0 on a kernel without it
};

// A line needs every attribute that it tells of.

std::string pause_line(View answer) {
  const auto rx = value<std::uint8_t>(answer, ETHTOOL_A_PAUSE_RX);
  const auto tx = value<std::uint8_t>(answer, ETHTOOL_A_PAUSE_TX);
  if (!rx || !tx) return "";
  return fmt::format("pause rx={} tx={}\n", *rx != 0 ? "on" : "off", *tx != 0 ? "on" : "off");
}

std::string rings_line(View answer) {
  const auto number = [&](int type) { return value<std::uint32_t>(answer, type); };
  const auto rx = number(ETHTOOL_A_RINGS_RX);
  const auto rx_max = number(ETHTOOL_A_RINGS_RX_MAX);
  const auto tx = number(ETHTOOL_A_RINGS_TX);
  const auto tx_max = number(ETHTOOL_A_RINGS_TX_MAX);
  if (!rx || !rx_max || !tx || !tx_max) return "";
  return fmt::format("rings rx={} rx_max={} tx={} tx_max={}\n", *rx, *rx_max, *tx, *tx_max);
}

std::string fec_line(View answer) {
  if (answer.empty()) return "";
  std::string_view name = "unknown";  // a mode that the driver has no name for, or the link is down
  if (const auto active = value<std::uint32_t>(answer, ETHTOOL_A_FEC_ACTIVE)) {
    if (*active == ETHTOOL_LINK_MODE_FEC_NONE_BIT) name = "none";
    if (*active == ETHTOOL_LINK_MODE_FEC_RS_BIT) name = "rs";
    if (*active == ETHTOOL_LINK_MODE_FEC_BASER_BIT) name = "baser";
    if (*active == ETHTOOL_LINK_MODE_FEC_LLRS_BIT) name = "llrs";
  }
  // The first number is the sum, those of the lanes follow.
  const auto uncorrected =
      value<std::uint64_t>(attribute(answer, ETHTOOL_A_FEC_STATS), ETHTOOL_A_FEC_STAT_UNCORR);
  return fmt::format("fec active={}{}\n", name,
                     uncorrected ? fmt::format(" uncorrected={}", *uncorrected) : "");
}

/// Where the name of the vendor and the part's number stand, 16 bytes each, in the first 256 bytes.
struct ModuleKind {
  std::uint8_t identifier;  ///< SFF-8024, table 4-1
  std::string_view name;
  std::size_t vendor;
  std::size_t part;
};
constexpr std::array kModules = std::to_array<ModuleKind>({
    {0x03, "SFP", 20, 40},
    {0x0d, "QSFP+", 148, 168},
    {0x11, "QSFP28+", 148, 168},  // "or later": QSFP56 too
    {0x18, "QSFP-DD", 129, 148},
    {0x19, "OSFP", 129, 148},
    {0x1e, "QSFP-CMIS", 129, 148},
});

/// Its bytes are the module's.
std::string module_text(View bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return ascii_only(trimmed(text));
}

std::string module_line(View low, View high) {
  constexpr std::size_t kNameBytes = 16;
  const View first = attribute(low, ETHTOOL_A_MODULE_EEPROM_DATA);
  if (first.empty()) return "";
  const auto identifier = static_cast<std::uint8_t>(first[0]);
  const auto* const kind =
      std::find_if(kModules.begin(), kModules.end(),
                   [&](const ModuleKind& row) { return row.identifier == identifier; });
  if (kind == kModules.end()) return fmt::format("module kind {:#04x}\n", identifier);
  Bytes all(first.begin(), first.end());
  if (all.size() == kModuleBytes) {
    const View second = attribute(high, ETHTOOL_A_MODULE_EEPROM_DATA);
    all.insert(all.end(), second.begin(), second.end());
  }
  if (all.size() < kind->part + kNameBytes) return "";
  return fmt::format("module {} {} {}\n", kind->name,
                     module_text(View(all).subspan(kind->vendor, kNameBytes)),
                     module_text(View(all).subspan(kind->part, kNameBytes)));
}

std::string dcb_lines(View answer) {
  const View settings = attribute(answer, DCB_ATTR_IEEE);
  std::string text;
  if (const auto pfc = value<ieee_pfc>(settings, DCB_ATTR_IEEE_PFC)) {
    std::string on;
    for (unsigned priority = 0; priority < IEEE_8021QAZ_MAX_TCS; ++priority) {
      if ((pfc->pfc_en >> priority & 1) != 0)
        on += fmt::format("{}{}", on.empty() ? "" : "+", priority);
    }
    text += fmt::format("pfc {}\n", on.empty() ? "none" : on);
    for (unsigned priority = 0; priority < IEEE_8021QAZ_MAX_TCS; ++priority) {
      const auto received = pfc->indications[priority];
      const auto sent = pfc->requests[priority];
      if (received + sent == 0) continue;
      text += fmt::format("pfc_frames prio={} rx={} tx={}\n", priority, received, sent);
    }
  }
  // In the order of trust.
  std::string_view trust;
  for_each_attribute(attribute(settings, kAppTrustTable), [&](int, View bytes) {
    const auto selector = read_as<std::uint8_t>(bytes);
    if (!selector || !trust.empty()) return;
    if (*selector == IEEE_8021QAZ_APP_SEL_DSCP) trust = "dscp";
    if (*selector == kSelectPcp) trust = "pcp";
  });
  if (!trust.empty()) text += fmt::format("trust {}\n", trust);
  for_each_attribute(attribute(settings, DCB_ATTR_IEEE_APP_TABLE), [&](int type, View bytes) {
    const auto row = type == DCB_ATTR_IEEE_APP ? read_as<dcb_app>(bytes) : std::nullopt;
    if (!row || row->selector != IEEE_8021QAZ_APP_SEL_DSCP) return;
    text += fmt::format("prio:{} dscp:{}\n", row->priority, row->protocol);
  });
  return text;
}

}  // namespace

EthernetKernel live_ethernet_kernel() {
  return [kernel = std::make_shared<const Kernel>()](EthernetQuestion question,
                                                     const std::string& interface) {
    return (*kernel)(question, interface);
  };
}

std::string ethernet_facts(const EthernetKernel& kernel, const std::string& interface) {
  const auto ask = [&](EthernetQuestion question) { return kernel(question, interface); };
  return pause_line(ask(EthernetQuestion::pause)) + rings_line(ask(EthernetQuestion::rings)) +
         fec_line(ask(EthernetQuestion::fec)) +
         module_line(ask(EthernetQuestion::module_low), ask(EthernetQuestion::module_high)) +
         dcb_lines(ask(EthernetQuestion::dcb));
}

}  // namespace rdmabench::inline v1::health
