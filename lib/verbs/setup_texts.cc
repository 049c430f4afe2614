// The table of setup_error.h. A cause is listed if the kernel or a provider is known or documented
// to return that errno for it; the likeliest cause comes first.
#include <array>
#include <cerrno>

#include "verbs/setup_error.h"

namespace rdmabench::verbs {
namespace {

using enum SetupCall;
using namespace setup_fact;

constexpr std::string_view kUnlock =
    "Raise the limit on locked memory: 'ulimit -l unlimited', memlock in "
    "/etc/security/limits.conf, LimitMEMLOCK= in a systemd unit, '--ulimit memlock=-1' for a "
    "container. 'rdma resource show' lists which processes use the device's objects.";
constexpr std::string_view kPassDevices =
    "Load the module ib_uverbs ('modprobe ib_uverbs'); in a container, pass the devices into it: "
    "'--device=/dev/infiniband', or use the device plugin of the cluster.";
constexpr std::string_view kPermit =
    "Let this user read and write the file (udev gives it mode 0666 by default), run as root, or, "
    "in a container, allow the device with '--device=/dev/infiniband'.";
constexpr std::string_view kPing =
    "Check that the peer answers a ping from this port's network device ('ping -I IFACE PEER'), "
    "and that both GIDs are in one subnet or routed; otherwise choose another `gid_index`.";
constexpr std::string_view kLowerDepth = "Lower `depth`, `queue_pairs` or `inline_limit`.";
constexpr std::string_view kNotHere =
    "Choose another operation, another transport or the `backend` ofi.";
constexpr std::string_view kOwnFault = "Report this text as a bug of rdmabench.";
constexpr std::string_view kGone = "Check 'dmesg' and 'rdma link', then start again.";

constexpr std::array kSetupTexts{
    // Devices
    SetupText{get_device_list, ENOSYS, "the kernel's RDMA modules are not loaded",
              "Load the driver of the adapter, or Soft-RoCE: 'modprobe rdma_rxe'."},
    SetupText{get_device_list, EPERM, "a security policy denies access to the devices",
              "Check seccomp, SELinux or AppArmor of the container or service."},
    SetupText{open_device, EACCES, "this user has no permission to open the device's file", kPermit,
              kDeviceFile},
    SetupText{open_device, EPERM, "the container's device rules deny access to the device's file",
              kPermit, kDeviceFile},
    SetupText{open_device, ENOENT,
              "the device's file is missing: the container lacks the device, or ib_uverbs is not "
              "loaded",
              kPassDevices, kDeviceFile},
    SetupText{open_device, ENODEV, "the device was removed, or its file belongs to no device",
              kPassDevices, kDeviceFile},
    SetupText{open_device, ENXIO, "the device's file belongs to no device", kPassDevices,
              kDeviceFile},
    SetupText{open_device, EIO, "the device is in reset or was removed", kGone},
    SetupText{query_device, EIO, "the device is in reset or was removed", kGone},
    SetupText{query_port, EINVAL, "the device has no port with this number",
              "'rdmabench devices' lists the ports; give `devices` as NAME:PORT."},
    SetupText{query_gid, EINVAL, "the port has no GID at this index",
              "'rdmabench devices' lists the GIDs; choose another `gid_index`."},
    SetupText{query_gid, ENODATA, "the GID at this index is empty",
              "Give the port's network device an address, or choose another `gid_index`."},
    // Domains
    SetupText{alloc_pd, ENOMEM, "all protection domains of the device are in use",
              "'rdma resource show' lists which processes use the device's objects.", kMaxPd},
    SetupText{open_xrcd, EOPNOTSUPP, "the device does not support XRC", "Set `service` to rc."},
    SetupText{open_xrcd, ENOSYS, "the device or its provider library does not support XRC",
              "Set `service` to rc."},
    // Queues
    SetupText{create_comp_channel, EMFILE, "too many files are open", "Raise 'ulimit -n'.",
              kOpenFiles},
    SetupText{create_cq, EINVAL,
              "more entries than the device supports, or an invalid completion vector", kLowerDepth,
              kMaxCqe},
    SetupText{create_cq, ENOMEM,
              "the limit on locked memory or the device's completion queues are exhausted", kUnlock,
              kMemlock | kMaxCq},
    SetupText{
        create_srq, EINVAL,
        "more receives or scatter/gather entries than the device's shared receive queues support",
        "Lower `depth`.", kMaxSrqWr},
    SetupText{create_srq, ENOMEM,
              "the limit on locked memory or the device's shared receive queues are exhausted",
              kUnlock, kMemlock | kMaxSrq},
    SetupText{create_srq, EOPNOTSUPP, "the device does not support shared receive queues",
              "Run without a shared receive queue."},
    SetupText{create_srq, ENOSYS,
              "the device or its provider library does not support shared receive queues",
              "Run without a shared receive queue."},
    SetupText{
        create_qp, EINVAL,
        "more work requests, scatter/gather entries or inline data than the device supports, or "
        "a queue pair type that it does not support",
        kLowerDepth, kMaxQpWr | kMaxSge},
    SetupText{create_qp, ENOMEM,
              "the limit on locked memory, the device's queue pairs or its memory for queues are "
              "exhausted",
              kUnlock, kMemlock | kMaxQp | kMaxQpWr},
    SetupText{create_qp, ENOSPC, "the device's queue pairs are exhausted",
              "'rdma resource show' lists which processes use the device's objects.", kMaxQp},
    SetupText{create_qp, EOPNOTSUPP, "the device does not support this queue pair type", kNotHere},
    SetupText{create_qp, ENOSYS, "the provider library does not support this queue pair type",
              kNotHere},
    SetupText{create_qp, EPERM, "this queue pair type needs CAP_NET_RAW", "Run as root."},
    // The states of a queue pair
    SetupText{
        modify_qp_init, EINVAL,
        "the port does not exist, the partition key index is empty, or the device does not support "
        "an access flag (atomics)",
        "'rdmabench devices' lists the ports; check the partition key index and the operation."},
    SetupText{modify_qp_init, EPERM, "only privileged users may use a Q_Key with its top bit set",
              "Choose a Q_Key below 0x80000000."},
    SetupText{
        modify_qp_rtr, EINVAL,
        "the path MTU is above the port's active MTU; the GID at this index is empty or has another "
        "type than the peer's; or the peer's outstanding reads exceed the device's limit",
        "Compare 'rdmabench devices' of both sides; set `mtu` and `gid_index`.", kMaxReads},
    SetupText{
        modify_qp_rtr, ETIMEDOUT,
        "the peer's address could not be resolved: no ARP or neighbour reply on the network of the "
        "chosen GID",
        kPing},
    SetupText{modify_qp_rtr, EHOSTUNREACH, "the peer's address cannot be reached on this network",
              kPing},
    SetupText{modify_qp_rtr, ENETUNREACH,
              "there is no route from the chosen GID's network to the peer's", kPing},
    SetupText{modify_qp_rtr, EADDRNOTAVAIL, "the chosen GID is no longer an address of this port",
              kPing},
    SetupText{modify_qp_rtr, ENODATA, "the peer's link-layer address is unknown", kPing},
    SetupText{modify_qp_rtr, ENOENT, "the GID at the chosen index is empty", kPing},
    SetupText{modify_qp_rtr, ENODEV, "the network device of the chosen GID is down or was removed",
              "Bring it up: 'ip link set IFACE up'."},
    SetupText{
        modify_qp_rts, EINVAL,
        "more outstanding reads or atomics than the device can issue, a timeout above 31 or a "
        "retry count above 7",
        "Lower the outstanding reads, the acknowledgement timeout or the retry count.", kMaxReads},
    SetupText{create_ah, EINVAL, "the GID at this index is empty, or the port or LID is invalid",
              "'rdmabench devices' lists the GIDs; choose another `gid_index`."},
    SetupText{create_ah, ENOMEM, "the device's address handles are exhausted",
              "Lower `queue_pairs`.", kMaxAh},
    SetupText{create_ah, ETIMEDOUT, "the peer's address could not be resolved", kPing},
    SetupText{create_ah, EHOSTUNREACH, "the peer's address cannot be reached on this network",
              kPing},
    SetupText{create_ah, ENETUNREACH,
              "there is no route from the chosen GID's network to the peer's", kPing},
    // The connection manager
    SetupText{create_event_channel, ENODEV, "the connection manager's file is missing",
              "Load the module rdma_ucm ('modprobe rdma_ucm'); in a container, pass "
              "/dev/infiniband/rdma_cm into it.",
              kManagerFile},
    SetupText{create_event_channel, ENOENT, "the connection manager's file is missing",
              "Load the module rdma_ucm ('modprobe rdma_ucm'); in a container, pass "
              "/dev/infiniband/rdma_cm into it.",
              kManagerFile},
    SetupText{create_event_channel, EACCES,
              "this user has no permission to open the connection manager's file", kPermit,
              kManagerFile},
    SetupText{create_event_channel, EPERM,
              "the container's device rules deny access to the connection manager's file", kPermit,
              kManagerFile},
    SetupText{create_event_channel, EMFILE, "too many files are open", "Raise 'ulimit -n'.",
              kOpenFiles},
    SetupText{create_id, ENODEV, "there is no RDMA device",
              "'rdmabench devices' lists the devices."},
    SetupText{bind_addr, EADDRNOTAVAIL, "this machine does not have the address",
              "'ip address' lists the addresses."},
    SetupText{bind_addr, ENODEV, "no RDMA device belongs to the address",
              "Use an address of an RDMA device's network device; 'rdma link' lists them."},
    SetupText{bind_addr, EADDRINUSE, "another process listens on that port",
              "Stop it, or choose another port."},
    SetupText{bind_addr, EACCES, "only root may use ports below 1024", "Choose another port."},
    SetupText{listen, EADDRINUSE, "another process listens on that port",
              "Stop it, or choose another port."},
    SetupText{resolve_addr, ETIMEDOUT,
              "no reply to ARP or neighbour discovery for the peer's address", kPing},
    SetupText{resolve_addr, EHOSTUNREACH, "the peer's address cannot be reached", kPing},
    SetupText{resolve_addr, ENETUNREACH, "there is no route to the peer's network",
              "'ip route get PEER' shows the route; add one."},
    SetupText{resolve_addr, ENODEV, "the route to the peer uses a network device without RDMA",
              "'ip route get PEER' shows it; use the peer's address on the RDMA network."},
    SetupText{
        resolve_addr, EADDRNOTAVAIL, "this machine does not have the source address",
        "'ip address' lists the addresses; choose another one of `devices` or another `gid_index`."},
    SetupText{resolve_route, ETIMEDOUT, "the subnet manager did not answer",
              "'sminfo' queries it; start opensm, or check the cable."},
    SetupText{resolve_route, EINVAL, "the subnet manager knows no path to the peer",
              "Compare the partition keys of both ports; check 'saquery -p'."},
    SetupText{
        connect, ECONNREFUSED,
        "the peer rejected the connection: nothing listens on that port, or its server refused",
        "Start 'rdmabench serve' there. A firewall would cause a timeout instead."},
    SetupText{connect, ETIMEDOUT,
              "the peer did not answer: it is stopped, or UDP port 4791 is blocked (RoCE)",
              "Check the peer and its firewall: 'nft list ruleset', 'ping'."},
    SetupText{connect, EHOSTUNREACH, "the peer did not answer", kPing},
    SetupText{connect, ECONNRESET, "the peer closed the connection while it was set up",
              "Check the peer's output."},
    SetupText{connect, EINVAL,
              "more outstanding reads than the device supports, or too much private data",
              "Lower the outstanding reads.", kMaxReads},
    SetupText{
        accept, EINVAL,
        "more outstanding reads than the device supports, or the client closed the connection",
        "Lower the outstanding reads; check the client's output.", kMaxReads},
    SetupText{accept, ETIMEDOUT, "the client did not confirm in time", "Check the peer's output."},
    SetupText{accept, ECONNABORTED, "the client closed the connection before it was accepted",
              "Check the peer's output."},
    // Any call
    SetupText{any, ENOMEM, "the limit on locked memory or the device's memory is exhausted",
              kUnlock, kMemlock},
    SetupText{any, EPERM, "this user lacks a privilege",
              "Run as root, or with CAP_IPC_LOCK and, for raw packets, CAP_NET_RAW."},
    SetupText{any, EACCES, "this user has no permission to use the device's file", kPermit,
              kDeviceFile},
    SetupText{any, EMFILE, "too many files are open", "Raise 'ulimit -n'.", kOpenFiles},
    SetupText{any, ENFILE, "too many files are open on the machine", "Raise fs.file-max."},
    SetupText{any, EINVAL, "an argument exceeds a limit of the device",
              "Lower `depth`, `queue_pairs` or `sizes`; 'ibv_devinfo -v' lists the "
              "device's limits."},
    SetupText{any, EOPNOTSUPP, "the device does not support this", kNotHere},
    SetupText{any, ENOSYS, "the provider library or the kernel does not support this", kNotHere},
    SetupText{any, EIO, "the device is in reset or was removed", kGone},
    SetupText{any, ENODEV, "the device was removed", kGone},
    SetupText{any, EBUSY, "other objects still use this object", kOwnFault},
    SetupText{any, EFAULT, "an address is not mapped", kOwnFault},
    SetupText{any, EAGAIN, "a resource of the device or the kernel is temporarily exhausted",
              "Try again; 'rdma resource show' lists which processes use the device's objects."},
    SetupText{any, EINTR, "a signal interrupted the call", "Try again."},
    SetupText{any, ETIMEDOUT, "the device or the peer did not answer in time", kGone},
};

}  // namespace

std::span<const SetupText> setup_texts() noexcept {
  return kSetupTexts;
}

}  // namespace rdmabench::verbs
