// The table of setup_error.h. A cause is listed where the kernel or a provider was seen or is
// documented to give that number for it, the likeliest first.
#include <array>
#include <cerrno>

#include "rdmabench/verbs/setup_error.h"

namespace rdmabench::verbs {
namespace {

using enum SetupCall;
using namespace setup_fact;

constexpr std::string_view kUnlock =
    "Raise the limit on locked memory: 'ulimit -l unlimited', memlock in "
    "/etc/security/limits.conf, LimitMEMLOCK= in a systemd unit, '--ulimit memlock=-1' for a "
    "container; or list what holds the device's objects with 'rdma resource show'.";
constexpr std::string_view kPassDevices =
    "Load the module ib_uverbs ('modprobe ib_uverbs'); in a container, pass the devices into it: "
    "'--device=/dev/infiniband', or the device plugin of the cluster.";
constexpr std::string_view kPermit =
    "Let this user read and write the file (udev gives it mode 0666 by default), run as root, or, "
    "in a container, allow the device with '--device=/dev/infiniband'.";
constexpr std::string_view kPing =
    "Check that the peer answers a ping from this port's network device ('ping -I IFACE PEER'), "
    "that both GIDs are of one subnet or routed, and choose another --gid-index otherwise.";
constexpr std::string_view kLowerDepth = "Lower --depth, --qps or --inline.";
constexpr std::string_view kNotHere = "Choose another operation or transport, or --backend ofi.";
constexpr std::string_view kOwnFault = "This is a fault of rdmabench: report it with this text.";
constexpr std::string_view kGone = "Look at 'dmesg' and 'rdma link', then start again.";

constexpr std::array kTexts{
    // Devices
    SetupText{get_device_list, ENOSYS, "the kernel has no RDMA support loaded",
              "Load the driver of the adapter, or Soft-RoCE: 'modprobe rdma_rxe'."},
    SetupText{get_device_list, EPERM, "a security policy forbids to look at the devices",
              "Check seccomp, SELinux or AppArmor of the container or service."},
    SetupText{open_device, EACCES, "this user may not open the device's file", kPermit,
              kDeviceFile},
    SetupText{open_device, EPERM, "the container's device rules forbid to open the device's file",
              kPermit, kDeviceFile},
    SetupText{open_device, ENOENT,
              "the device's file is missing: a container without the device, or ib_uverbs is not "
              "loaded",
              kPassDevices, kDeviceFile},
    SetupText{open_device, ENODEV, "the device has gone, or its file belongs to no device",
              kPassDevices, kDeviceFile},
    SetupText{open_device, ENXIO, "the device's file belongs to no device", kPassDevices,
              kDeviceFile},
    SetupText{open_device, EIO, "the device is in reset or was removed", kGone},
    SetupText{query_device, EIO, "the device is in reset or was removed", kGone},
    SetupText{query_port, EINVAL, "the device has no port of that number",
              "'rdmabench devices' lists the ports; write --device NAME:PORT."},
    SetupText{query_gid, EINVAL, "the port has no GID of that index",
              "'rdmabench devices' lists the GIDs; choose with --gid-index."},
    SetupText{query_gid, ENODATA, "the GID of that index is not set",
              "Give the port's network device an address, or choose with --gid-index."},
    // Domains and memory
    SetupText{alloc_pd, ENOMEM, "all protection domains of the device are taken",
              "List what holds the device's objects with 'rdma resource show'.", kMaxPd},
    SetupText{open_xrcd, EOPNOTSUPP, "the device has no XRC", "Use --transport rc."},
    SetupText{open_xrcd, ENOSYS, "the device or its provider library has no XRC",
              "Use --transport rc."},
    SetupText{reg_mr, ENOMEM,
              "the limit on locked memory, the machine's memory or the device's memory regions are "
              "used up",
              kUnlock, kMemlock | kMaxMr},
    SetupText{reg_mr, EAGAIN, "the kernel could not lock the pages", kUnlock, kMemlock},
    SetupText{reg_mr, EPERM, "this user may not lock memory", kUnlock, kMemlock},
    SetupText{reg_mr, EINVAL,
              "no bytes, more than the device takes in one region, or a combination of access "
              "rights that it refuses (on-demand paging, relaxed ordering)",
              "Lower --size, or leave the memory option out."},
    SetupText{reg_mr, EFAULT,
              "the memory may not be pinned: not mapped, GPU memory without nvidia-peermem, or a "
              "mapped file of a file system that refuses long pins",
              "Use dma-buf for GPU memory or load nvidia-peermem; for a file, use tmpfs or "
              "hugetlbfs, or --memory host."},
    SetupText{reg_mr, EOPNOTSUPP,
              "the device lacks an access right that was asked for (on-demand paging, huge or "
              "device memory)",
              "Leave the memory option out."},
    SetupText{reg_dmabuf_mr, EOPNOTSUPP, "the device's driver takes no dma-buf",
              "Use another device, or another route to the memory; mlx5, irdma and efa take it."},
    SetupText{reg_dmabuf_mr, EPROTONOSUPPORT, "the provider library takes no dma-buf",
              "Install a newer rdma-core, or use another route to the memory."},
    SetupText{reg_dmabuf_mr, EBADF, "the descriptor is no dma-buf", kOwnFault},
    SetupText{reg_dmabuf_mr, EINVAL,
              "an offset or length outside of the dma-buf, or access rights that it refuses",
              kOwnFault},
    SetupText{reg_dmabuf_mr, ENOMEM, "the device's memory or its memory regions are used up",
              "Lower --size, or list what holds the device's objects with 'rdma resource show'.",
              kMaxMr},
    // Queues
    SetupText{create_comp_channel, EMFILE, "too many files are open", "Raise 'ulimit -n'.",
              kOpenFiles},
    SetupText{create_cq, EINVAL, "more entries than the device takes, or a vector it lacks",
              kLowerDepth, kMaxCqe},
    SetupText{create_cq, ENOMEM,
              "the limit on locked memory, or the device's completion queues are used up", kUnlock,
              kMemlock | kMaxCq},
    SetupText{create_srq, EINVAL, "more receives or entries than a shared receive queue takes",
              "Lower --depth.", kMaxSrqWr},
    SetupText{create_srq, ENOMEM,
              "the limit on locked memory, or the device's shared receive queues are used up",
              kUnlock, kMemlock | kMaxSrq},
    SetupText{create_srq, EOPNOTSUPP, "the device has no shared receive queues",
              "Do without the shared receive queue."},
    SetupText{create_srq, ENOSYS, "the device or its provider has no shared receive queues",
              "Do without the shared receive queue."},
    SetupText{create_qp, EINVAL,
              "more work requests, scatter/gather entries or inline data than the device takes, or "
              "a type of queue pair that it lacks",
              kLowerDepth, kMaxQpWr | kMaxSge},
    SetupText{create_qp, ENOMEM,
              "the limit on locked memory, the device's queue pairs or its memory for queues are "
              "used up",
              kUnlock, kMemlock | kMaxQp | kMaxQpWr},
    SetupText{create_qp, ENOSPC, "the device's queue pairs are used up",
              "List what holds the device's objects with 'rdma resource show'.", kMaxQp},
    SetupText{create_qp, EOPNOTSUPP, "the device has no queue pairs of this type", kNotHere},
    SetupText{create_qp, ENOSYS, "the device's provider has no queue pairs of this type", kNotHere},
    SetupText{create_qp, EPERM, "this type of queue pair needs CAP_NET_RAW", "Run as root."},
    // The states of a queue pair
    SetupText{
        modify_qp_init, EINVAL,
        "the port does not exist, the partition key index is empty, or the device refuses an "
        "access right (atomics)",
        "'rdmabench devices' lists the ports; check the partition key index and the operation."},
    SetupText{modify_qp_init, EPERM, "a Q_Key with its top bit set is for privileged users",
              "Choose a Q_Key below 0x80000000."},
    SetupText{modify_qp_rtr, EINVAL,
              "the path MTU is above the port's active MTU, the GID index is empty or of another "
              "type than the peer's, or the peer asks for more outstanding reads than the device "
              "answers",
              "Compare 'rdmabench devices' of both sides; set --mtu and --gid-index.", kMaxReads},
    SetupText{modify_qp_rtr, ETIMEDOUT,
              "the peer's address was not resolved: no ARP or "
              "neighbour answer on the network of the chosen GID",
              kPing},
    SetupText{modify_qp_rtr, EHOSTUNREACH, "the peer's address does not answer on this network",
              kPing},
    SetupText{modify_qp_rtr, ENETUNREACH, "no route from the chosen GID's network to the peer's",
              kPing},
    SetupText{modify_qp_rtr, EADDRNOTAVAIL, "the chosen GID is no longer an address of this port",
              kPing},
    SetupText{modify_qp_rtr, ENODATA, "the peer's link-layer address is not known", kPing},
    SetupText{modify_qp_rtr, ENOENT, "the chosen GID index is empty", kPing},
    SetupText{modify_qp_rtr, ENODEV, "the network device of the chosen GID is gone or down",
              "Bring it up: 'ip link set IFACE up'."},
    SetupText{modify_qp_rts, EINVAL,
              "more outstanding reads or atomics than the device starts, or a timeout above 31 or "
              "a retry count above 7",
              "Lower the outstanding reads, the acknowledgement timeout or the retry count.",
              kMaxReads},
    SetupText{create_ah, EINVAL, "the GID index is empty, or the port or LID is not valid",
              "'rdmabench devices' lists the GIDs; choose with --gid-index."},
    SetupText{create_ah, ENOMEM, "the device's address handles are used up", "Lower --qps.",
              kMaxAh},
    SetupText{create_ah, ETIMEDOUT, "the peer's address was not resolved", kPing},
    SetupText{create_ah, EHOSTUNREACH, "the peer's address does not answer on this network", kPing},
    SetupText{create_ah, ENETUNREACH, "no route from the chosen GID's network to the peer's",
              kPing},
    SetupText{attach_mcast, EINVAL, "the group's address is none, or the queue pair is not UD",
              "Give a multicast address, and --transport ud."},
    // Posting
    SetupText{post_send, ENOMEM, "the send queue is full",
              "Lower --depth or --signal-every; if it stays, report it with this text.", kMaxQpWr},
    SetupText{post_send, EINVAL,
              "an operation that this transport lacks, more inline data or entries than the queue "
              "pair was made for, or a queue pair that is not connected",
              kOwnFault},
    SetupText{post_send, EFAULT, "the device cannot read the work request", kOwnFault},
    SetupText{post_send, EOPNOTSUPP, "the device lacks the operation", kNotHere},
    SetupText{post_recv, ENOMEM, "the receive queue is full",
              "Lower --depth; if it stays, report it with this text.", kMaxQpWr},
    SetupText{post_recv, EINVAL,
              "more entries than the queue pair was made for, or it was not initialized",
              kOwnFault},
    SetupText{post_srq_recv, ENOMEM, "the shared receive queue is full",
              "Lower --depth; if it stays, report it with this text.", kMaxSrqWr},
    // The connection manager
    SetupText{create_event_channel, ENODEV, "the connection manager's file is missing",
              "Load the module rdma_ucm; in a container, pass /dev/infiniband/rdma_cm into it.",
              kManagerFile},
    SetupText{create_event_channel, ENOENT, "the connection manager's file is missing",
              "Load the module rdma_ucm; in a container, pass /dev/infiniband/rdma_cm into it.",
              kManagerFile},
    SetupText{create_event_channel, EACCES, "this user may not open the connection manager's file",
              kPermit, kManagerFile},
    SetupText{create_event_channel, EPERM,
              "the container's device rules forbid the connection manager's file", kPermit,
              kManagerFile},
    SetupText{create_event_channel, EMFILE, "too many files are open", "Raise 'ulimit -n'.",
              kOpenFiles},
    SetupText{create_id, ENODEV, "there is no RDMA device",
              "'rdmabench devices' lists what there is."},
    SetupText{bind_addr, EADDRNOTAVAIL, "the address is none of this machine's",
              "'ip address' lists them."},
    SetupText{bind_addr, ENODEV, "no RDMA device belongs to the address",
              "Give an address of an RDMA device's network device; 'rdma link' shows which."},
    SetupText{bind_addr, EADDRINUSE, "another process listens on that port",
              "Stop it, or choose another port."},
    SetupText{bind_addr, EACCES, "ports below 1024 are for root", "Choose another port."},
    SetupText{listen, EADDRINUSE, "another process listens on that port",
              "Stop it, or choose another port."},
    SetupText{resolve_addr, ETIMEDOUT,
              "the peer's address did not answer ARP or neighbour "
              "discovery",
              kPing},
    SetupText{resolve_addr, EHOSTUNREACH, "the peer's address does not answer", kPing},
    SetupText{resolve_addr, ENETUNREACH, "no route to the peer's network",
              "'ip route get PEER' shows the route; add one."},
    SetupText{resolve_addr, ENODEV, "the route to the peer leaves by a network device without RDMA",
              "'ip route get PEER' names it; give the peer's address on the RDMA network."},
    SetupText{resolve_addr, EADDRNOTAVAIL, "the source address is none of this machine's",
              "'ip address' lists them; choose another --device or --gid-index."},
    SetupText{resolve_route, ETIMEDOUT, "the subnet manager did not answer",
              "'sminfo' asks for it; start opensm, or look at the cable."},
    SetupText{resolve_route, EINVAL, "the subnet manager knows no path to the peer",
              "Compare the partition keys of both ports, and look at 'saquery -p'."},
    SetupText{connect, ECONNREFUSED,
              "the peer rejected: nothing listens at that port, or its server turned it away",
              "Start 'rdmabench serve' there; a firewall would show as a time-out instead."},
    SetupText{connect, ETIMEDOUT,
              "the peer did not answer: it has stopped, or UDP port 4791 is blocked (RoCE)",
              "Check the peer and its firewall: 'nft list ruleset', 'ping'."},
    SetupText{connect, EHOSTUNREACH, "the peer did not answer", kPing},
    SetupText{connect, ECONNRESET, "the peer left during the connection",
              "Look at what it printed."},
    SetupText{connect, EINVAL,
              "more outstanding reads than the device has, or too much private data",
              "Lower the outstanding reads.", kMaxReads},
    SetupText{accept, EINVAL, "more outstanding reads than the device has, or the client left",
              "Lower the outstanding reads, or look at what the client printed.", kMaxReads},
    SetupText{accept, ETIMEDOUT, "the client did not confirm in time", "Look at what it printed."},
    SetupText{accept, ECONNABORTED, "the client left before it was accepted",
              "Look at what it printed."},
    // Whatever the call
    SetupText{any, ENOMEM, "the limit on locked memory or the device's memory is used up", kUnlock,
              kMemlock},
    SetupText{any, EPERM, "this user lacks a privilege",
              "Run as root, or ask for CAP_IPC_LOCK "
              "and, for raw packets, CAP_NET_RAW."},
    SetupText{any, EACCES, "this user may not use the device's file", kPermit, kDeviceFile},
    SetupText{any, EMFILE, "too many files are open", "Raise 'ulimit -n'.", kOpenFiles},
    SetupText{any, ENFILE, "too many files are open on the machine", "Raise fs.file-max."},
    SetupText{any, EINVAL, "an argument is beyond what the device takes",
              "Lower --depth, --qps or --size; 'ibv_devinfo -v' lists the device's limits."},
    SetupText{any, EOPNOTSUPP, "the device lacks this", kNotHere},
    SetupText{any, ENOSYS, "the device's provider library or the kernel lacks this", kNotHere},
    SetupText{any, EIO, "the device is in reset or was removed", kGone},
    SetupText{any, ENODEV, "the device was removed", kGone},
    SetupText{any, EBUSY, "other objects of the device still use this", kOwnFault},
    SetupText{any, EFAULT, "an address is not mapped", kOwnFault},
    SetupText{any, EAGAIN, "the device or the kernel is out of something for now",
              "Try again; 'rdma resource show' lists what holds the device's objects."},
    SetupText{any, EINTR, "a signal came in between", "Try again."},
    SetupText{any, ETIMEDOUT, "the device or the peer did not answer in time", kGone},
};

}  // namespace

std::span<const SetupText> setup_texts() noexcept {
  return kTexts;
}

}  // namespace rdmabench::verbs
