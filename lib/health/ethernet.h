// What the kernel tells of a network device by netlink, of ethtool and of DCB (IEEE 802.1Q), as the
// text of a fact. Private to this room. Sources: Documentation/networking/ethtool-netlink.rst and
// include/uapi/linux/dcbnl.h of Linux; SFF-8024, SFF-8472, SFF-8636 and CMIS for modules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rdmabench::inline v1::health {

enum class EthernetQuestion : std::uint8_t { pause, rings, fec, module_low, module_high, dcb };

/// The attributes of the kernel's answer about an interface; none where the driver has no answer or
/// the process no right to it.
using EthernetKernel =
    std::function<std::vector<std::byte>(EthernetQuestion question, const std::string& interface)>;

/// Asks the running kernel; each call returns when the driver has answered.
EthernetKernel live_ethernet_kernel();

// clang-format off
/// A line for each answer:
///   pause rx=on tx=off
///   rings rx=1024 rx_max=8192 tx=1024 tx_max=8192
///   fec active=rs uncorrected=0
///   module QSFP28+ Mellanox MCP1600-C003
///   pfc 3+4
///   pfc_frames prio=3 rx=1200 tx=0
///   trust dscp
///   prio:3 dscp:26
/// FEC is rs, baser, llrs, none or unknown, with the number of blocks where the driver counts them; PFC
/// the priorities that have it, or none, with a line for each that has had pause frames; the last line stands for each code point with a priority.
// clang-format on
std::string ethernet_facts(const EthernetKernel& kernel, const std::string& interface);

}  // namespace rdmabench::inline v1::health
