// The table of setup_error.h. A cause is listed if the kernel or a provider is known or documented
// to return that errno for it; the likeliest cause comes first.
#include <array>
#include <cerrno>

#include "verbs/setup_error.h"

namespace rdmabench::inline v1::verbs {
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

constexpr auto kSetupTexts = std::to_array<SetupText>({
    // Devices
    {get_device_list, ENOSYS, "the kernel's RDMA modules are not loaded",
     "Load the driver of the adapter, or Soft-RoCE: 'modprobe rdma_rxe'."},
    {get_device_list, EPERM, "a security policy denies access to the devices",
     "Check seccomp, SELinux or AppArmor of the container or service."},
    {open_device, EACCES, "this user has no permission to open the device's file", kPermit,
     kDeviceFile},
    {open_device, EPERM, "the container's device rules deny access to the device's file", kPermit,
     kDeviceFile},
    {open_device, ENOENT,
     "the device's file is missing: the container lacks the device, or ib_uverbs is not "
     "loaded",
     kPassDevices, kDeviceFile},
    {open_device, ENODEV, "the device was removed, or its file belongs to no device", kPassDevices,
     kDeviceFile},
    {open_device, ENXIO, "the device's file belongs to no device", kPassDevices, kDeviceFile},
    {open_device, EIO, "the device is in reset or was removed", kGone},
    {query_device, EIO, "the device is in reset or was removed", kGone},
    {query_port, EINVAL, "the device has no port with this number",
     "'rdmabench devices' lists the ports; give `devices` as NAME:PORT."},
    {query_gid, EINVAL, "the port has no GID at this index",
     "'rdmabench devices' lists the GIDs; choose another `gid_index`."},
    {query_gid, ENODATA, "the GID at this index is empty",
     "Give the port's network device an address, or choose another `gid_index`."},
    // Domains
    {alloc_pd, ENOMEM, "all protection domains of the device are in use",
     "'rdma resource show' lists which processes use the device's objects.", kMaxPd},
    {open_xrcd, EOPNOTSUPP, "the device does not support XRC", "Set `service` to rc."},
    {open_xrcd, ENOSYS, "the device or its provider library does not support XRC",
     "Set `service` to rc."},
    // Queues
    {create_comp_channel, EMFILE, "too many files are open", "Raise 'ulimit -n'.", kOpenFiles},
    {create_cq, EINVAL, "more entries than the device supports, or an invalid completion vector",
     kLowerDepth, kMaxCqe},
    {create_cq, ENOMEM,
     "the limit on locked memory or the device's completion queues are exhausted", kUnlock,
     kMemlock | kMaxCq},
    {create_srq, EINVAL,
     "more receives or scatter/gather entries than the device's shared receive queues support",
     "Lower `depth`.", kMaxSrqWr},
    {create_srq, ENOMEM,
     "the limit on locked memory or the device's shared receive queues are exhausted", kUnlock,
     kMemlock | kMaxSrq},
    {create_srq, EOPNOTSUPP, "the device does not support shared receive queues",
     "Run without a shared receive queue."},
    {create_srq, ENOSYS,
     "the device or its provider library does not support shared receive queues",
     "Run without a shared receive queue."},
    {create_qp, EINVAL,
     "more work requests, scatter/gather entries or inline data than the device supports, or "
     "a queue pair type that it does not support",
     kLowerDepth, kMaxQpWr | kMaxSge},
    {create_qp, ENOMEM,
     "the limit on locked memory, the device's queue pairs or its memory for queues are "
     "exhausted",
     kUnlock, kMemlock | kMaxQp | kMaxQpWr},
    {create_qp, ENOSPC, "the device's queue pairs are exhausted",
     "'rdma resource show' lists which processes use the device's objects.", kMaxQp},
    {create_qp, EOPNOTSUPP, "the device does not support this queue pair type", kNotHere},
    {create_qp, ENOSYS, "the provider library does not support this queue pair type", kNotHere},
    {create_qp, EPERM, "this queue pair type needs CAP_NET_RAW", "Run as root."},
    // The states of a queue pair
    {modify_qp_init, EINVAL,
     "the port does not exist, the partition key index is empty, or the device does not support "
     "an access flag (atomics)",
     "'rdmabench devices' lists the ports; check the partition key index and the operation."},
    {modify_qp_init, EPERM, "only privileged users may use a Q_Key with its top bit set",
     "Choose a Q_Key below 0x80000000."},
    {modify_qp_rtr, EINVAL,
     "the path MTU is above the port's active MTU; the GID at this index is empty or has another "
     "type than the peer's; or the peer's outstanding reads exceed the device's limit",
     "Compare 'rdmabench devices' of both sides; set `mtu` and `gid_index`.", kMaxReads},
    {modify_qp_rtr, ETIMEDOUT,
     "the peer's address could not be resolved: no ARP or neighbour reply on the network of the "
     "chosen GID",
     kPing},
    {modify_qp_rtr, EHOSTUNREACH, "the peer's address cannot be reached on this network", kPing},
    {modify_qp_rtr, ENETUNREACH, "there is no route from the chosen GID's network to the peer's",
     kPing},
    {modify_qp_rtr, EADDRNOTAVAIL, "the chosen GID is no longer an address of this port", kPing},
    {modify_qp_rtr, ENODATA, "the peer's link-layer address is unknown", kPing},
    {modify_qp_rtr, ENOENT, "the GID at the chosen index is empty", kPing},
    {modify_qp_rtr, ENODEV, "the network device of the chosen GID is down or was removed",
     "Bring it up: 'ip link set IFACE up'."},
    {modify_qp_rts, EINVAL,
     "more outstanding reads or atomics than the device can issue, a timeout above 31 or a "
     "retry count above 7",
     "Lower the outstanding reads, the acknowledgement timeout or the retry count.", kMaxReads},
    {create_ah, EINVAL, "the GID at this index is empty, or the port or LID is invalid",
     "'rdmabench devices' lists the GIDs; choose another `gid_index`."},
    {create_ah, ENOMEM, "the device's address handles are exhausted", "Lower `queue_pairs`.",
     kMaxAh},
    {create_ah, ETIMEDOUT, "the peer's address could not be resolved", kPing},
    {create_ah, EHOSTUNREACH, "the peer's address cannot be reached on this network", kPing},
    {create_ah, ENETUNREACH, "there is no route from the chosen GID's network to the peer's",
     kPing},
    // The connection manager
    {create_event_channel, ENODEV, "the connection manager's file is missing",
     "Load the module rdma_ucm ('modprobe rdma_ucm'); in a container, pass "
     "/dev/infiniband/rdma_cm into it.",
     kManagerFile},
    {create_event_channel, ENOENT, "the connection manager's file is missing",
     "Load the module rdma_ucm ('modprobe rdma_ucm'); in a container, pass "
     "/dev/infiniband/rdma_cm into it.",
     kManagerFile},
    {create_event_channel, EACCES,
     "this user has no permission to open the connection manager's file", kPermit, kManagerFile},
    {create_event_channel, EPERM,
     "the container's device rules deny access to the connection manager's file", kPermit,
     kManagerFile},
    {create_event_channel, EMFILE, "too many files are open", "Raise 'ulimit -n'.", kOpenFiles},
    {create_id, ENODEV, "there is no RDMA device", "'rdmabench devices' lists the devices."},
    {bind_addr, EADDRNOTAVAIL, "this machine does not have the address",
     "'ip address' lists the addresses."},
    {bind_addr, ENODEV, "no RDMA device belongs to the address",
     "Use an address of an RDMA device's network device; 'rdma link' lists them."},
    {bind_addr, EADDRINUSE, "another process listens on that port",
     "Stop it, or choose another port."},
    {bind_addr, EACCES, "only root may use ports below 1024", "Choose another port."},
    {listen, EADDRINUSE, "another process listens on that port",
     "Stop it, or choose another port."},
    {resolve_addr, ETIMEDOUT, "no reply to ARP or neighbour discovery for the peer's address",
     kPing},
    {resolve_addr, EHOSTUNREACH, "the peer's address cannot be reached", kPing},
    {resolve_addr, ENETUNREACH, "there is no route to the peer's network",
     "'ip route get PEER' shows the route; add one."},
    {resolve_addr, ENODEV, "the route to the peer uses a network device without RDMA",
     "'ip route get PEER' shows it; use the peer's address on the RDMA network."},
    {resolve_addr, EADDRNOTAVAIL, "this machine does not have the source address",
     "'ip address' lists the addresses; choose another one of `devices` or another `gid_index`."},
    {resolve_route, ETIMEDOUT, "the subnet manager did not answer",
     "'sminfo' queries it; start opensm, or check the cable."},
    {resolve_route, EINVAL, "the subnet manager knows no path to the peer",
     "Compare the partition keys of both ports; check 'saquery -p'."},
    {connect, ECONNREFUSED,
     "the peer rejected the connection: nothing listens on that port, or its server refused",
     "Start 'rdmabench serve' there. A firewall would cause a timeout instead."},
    {connect, ETIMEDOUT,
     "the peer did not answer: it is stopped, or UDP port 4791 is blocked (RoCE)",
     "Check the peer and its firewall: 'nft list ruleset', 'ping'."},
    {connect, EHOSTUNREACH, "the peer did not answer", kPing},
    {connect, ECONNRESET, "the peer closed the connection while it was set up",
     "Check the peer's output."},
    {connect, EINVAL, "more outstanding reads than the device supports, or too much private data",
     "Lower the outstanding reads.", kMaxReads},
    {accept, EINVAL,
     "more outstanding reads than the device supports, or the client closed the connection",
     "Lower the outstanding reads; check the client's output.", kMaxReads},
    {accept, ETIMEDOUT, "the client did not confirm in time", "Check the peer's output."},
    {accept, ECONNABORTED, "the client closed the connection before it was accepted",
     "Check the peer's output."},
    // Any call
    {any, ENOMEM, "the limit on locked memory or the device's memory is exhausted", kUnlock,
     kMemlock},
    {any, EPERM, "this user lacks a privilege",
     "Run as root, or with CAP_IPC_LOCK and, for raw packets, CAP_NET_RAW."},
    {any, EACCES, "this user has no permission to use the device's file", kPermit, kDeviceFile},
    {any, EMFILE, "too many files are open", "Raise 'ulimit -n'.", kOpenFiles},
    {any, ENFILE, "too many files are open on the machine", "Raise fs.file-max."},
    {any, EINVAL, "an argument exceeds a limit of the device",
     "Lower `depth`, `queue_pairs` or `sizes`; 'ibv_devinfo -v' lists the "
     "device's limits."},
    {any, EOPNOTSUPP, "the device does not support this", kNotHere},
    {any, ENOSYS, "the provider library or the kernel does not support this", kNotHere},
    {any, EIO, "the device is in reset or was removed", kGone},
    {any, ENODEV, "the device was removed", kGone},
    {any, EBUSY, "other objects still use this object", kOwnFault},
    {any, EFAULT, "an address is not mapped", kOwnFault},
    {any, EAGAIN, "a resource of the device or the kernel is temporarily exhausted",
     "Try again; 'rdma resource show' lists which processes use the device's objects."},
    {any, EINTR, "a signal interrupted the call", "Try again."},
    {any, ETIMEDOUT, "the device or the peer did not answer in time", kGone},
});

}  // namespace

std::span<const SetupText> setup_texts() noexcept {
  return kSetupTexts;
}

}  // namespace rdmabench::inline v1::verbs
