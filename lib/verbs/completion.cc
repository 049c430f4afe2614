#include "rdmabench/verbs/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rdmabench::verbs {
namespace {

constexpr std::string_view kNotUsed = "rdmabench does not use the feature this status belongs to.";
constexpr std::string_view kDriver = "A fault of the device or its driver.";
constexpr std::string_view kDmesg = "Look at 'dmesg', and update firmware and driver.";
constexpr std::string_view kReport = "Report it with this text.";

struct Entry {
  ibv_wc_status status;
  StatusText text;
};

constexpr std::array<Entry, kStatuses> kTexts{{
    {IBV_WC_SUCCESS, {"IBV_WC_SUCCESS", "it succeeded", "", ""}},
    {IBV_WC_LOC_LEN_ERR,
     {"IBV_WC_LOC_LEN_ERR", "a message was longer than the buffer it was to land in",
      "The two sides disagree on the message size; over UD, the message is longer than the path "
      "MTU or the receive has no room for the 40 bytes of the global header; or the message is "
      "longer than the port takes.",
      "Run the same release on both sides; over UD, lower --size to the MTU."}},
    {IBV_WC_LOC_QP_OP_ERR,
     {"IBV_WC_LOC_QP_OP_ERR", "this side's queue pair could not carry the request out",
      "A request the device does not take: too much inline data, too many scatter/gather entries, "
      "or an operation that the device or this type of queue pair lacks; on Soft-RoCE also a port "
      "whose network device went down or has no route to the peer.",
      "Look at 'rdma link'; try --inline 0, or another operation."}},
    {IBV_WC_LOC_EEC_OP_ERR, {"IBV_WC_LOC_EEC_OP_ERR", "a local EE context failed", kNotUsed, ""}},
    {IBV_WC_LOC_PROT_ERR,
     {"IBV_WC_LOC_PROT_ERR", "a local buffer is not covered by its memory region",
      "The buffer's key, bounds or protection domain are wrong, which is a fault of rdmabench; or "
      "the memory was unmapped during the run (a mapped file that was truncated, freed GPU memory).",
      "Try --memory host; if it stays, report it with this text."}},
    {IBV_WC_WR_FLUSH_ERR,
     {"IBV_WC_WR_FLUSH_ERR", "it was dropped because the queue pair was already in error",
      "The first failure on this queue pair is the cause, and this is one of its followers. If "
      "there is none, the peer closed its end, the port went down or the device was reset.",
      "Look for the first error, at what the peer printed, and at 'dmesg'."}},
    {IBV_WC_MW_BIND_ERR,
     {"IBV_WC_MW_BIND_ERR", "a memory window could not be bound", kNotUsed, ""}},
    {IBV_WC_BAD_RESP_ERR,
     {"IBV_WC_BAD_RESP_ERR", "the peer gave an answer that does not fit the request",
      "Corrupt packets, or a fault of the peer's device or its driver.", kDmesg}},
    {IBV_WC_LOC_ACCESS_ERR,
     {"IBV_WC_LOC_ACCESS_ERR", "the local buffer of a write with immediate may not be written",
      "The memory was unmapped during the run, or a fault of rdmabench.", kReport}},
    {IBV_WC_REM_INV_REQ_ERR,
     {"IBV_WC_REM_INV_REQ_ERR", "the peer refused the request as invalid",
      "The message is longer than the receive posted for it; the peer's queue pair does not allow "
      "this operation; an atomic is not 8 bytes on a multiple of 8; or more reads and atomics were "
      "outstanding than the peer said it answers.",
      "Run the same release and options on both sides; lower the outstanding reads."}},
    {IBV_WC_REM_ACCESS_ERR,
     {"IBV_WC_REM_ACCESS_ERR", "the peer's memory may not be touched there",
      "The remote key, the address or the length is outside the peer's window; the window or the "
      "queue pair does not allow this operation (remote write, read, atomic); or the peer closed "
      "it already.",
      "Look at what the peer printed; run the same release on both sides."}},
    {IBV_WC_REM_OP_ERR,
     {"IBV_WC_REM_OP_ERR", "the peer could not carry the request out",
      "The peer's own receive failed, or its device did.", "The peer's error says why."}},
    {IBV_WC_RETRY_EXC_ERR,
     {"IBV_WC_RETRY_EXC_ERR", "the peer did not acknowledge, however often it was asked",
      "The peer process, its queue pair or its link is gone; the GIDs do not reach each other "
      "(wrong --gid-index, VLAN or subnet, UDP port 4791 blocked by a firewall); the network's MTU "
      "is below the path MTU plus headers; the partition keys differ; or the fabric loses packets "
      "(no flow control for this traffic class).",
      "Look whether the peer still runs; ping it from this GID's network device with packets of "
      "the MTU ('ping -I IFACE -M do -s SIZE PEER'); try another --gid-index or a smaller --mtu."}},
    {IBV_WC_RNR_RETRY_EXC_ERR,
     {"IBV_WC_RNR_RETRY_EXC_ERR", "the peer had no receive posted, however often it was asked",
      "The receiver is slower than the sender, or has stopped (swapped out, SIGSTOP, a debugger).",
      "Look whether the peer still runs; lower --depth, or raise the peer's receives and the RNR "
      "retry count."}},
    {IBV_WC_LOC_RDD_VIOL_ERR, {"IBV_WC_LOC_RDD_VIOL_ERR", "an RDD does not match", kNotUsed, ""}},
    {IBV_WC_REM_INV_RD_REQ_ERR,
     {"IBV_WC_REM_INV_RD_REQ_ERR", "an RD request is invalid", kNotUsed, ""}},
    {IBV_WC_REM_ABORT_ERR,
     {"IBV_WC_REM_ABORT_ERR", "the peer aborted the request",
      "The peer's queue pair was reset or its XRC domain closed; or a fault of its device.",
      "Look at what the peer printed, and at its 'dmesg'."}},
    {IBV_WC_INV_EECN_ERR, {"IBV_WC_INV_EECN_ERR", "an EE context number is invalid", kNotUsed, ""}},
    {IBV_WC_INV_EEC_STATE_ERR,
     {"IBV_WC_INV_EEC_STATE_ERR", "an EE context is in the wrong state", kNotUsed, ""}},
    {IBV_WC_FATAL_ERR, {"IBV_WC_FATAL_ERR", "the device failed", kDriver, kDmesg}},
    {IBV_WC_RESP_TIMEOUT_ERR,
     {"IBV_WC_RESP_TIMEOUT_ERR", "a response timed out",
      "The peer acknowledged a read or an atomic and never answered it; or a fault of its device.",
      "Look whether the peer still runs, and at its 'dmesg'."}},
    {IBV_WC_GENERAL_ERR,
     {"IBV_WC_GENERAL_ERR", "the device reported an error of its own",
      "A fault of the device or its driver; the vendor error says more to its maker.", kDmesg}},
    {IBV_WC_TM_ERR, {"IBV_WC_TM_ERR", "tag matching failed", kNotUsed, ""}},
    {IBV_WC_TM_RNDV_INCOMPLETE,
     {"IBV_WC_TM_RNDV_INCOMPLETE", "a tag-matching rendezvous is not complete", kNotUsed, ""}},
}};

}  // namespace

StatusText explain(ibv_wc_status status) noexcept {
  const auto* found = std::find_if(kTexts.begin(), kTexts.end(),
                                   [status](const Entry& entry) { return entry.status == status; });
  if (found != kTexts.end()) return found->text;
  return {"unknown status", "a status this build does not know", kDriver, kDmesg};
}

std::string to_text(const ibv_wc& failed) {
  const StatusText text = explain(failed.status);
  return fmt::format("{} ({} = {}, vendor error {:#x}). {}{}{}", text.meaning, text.name,
                     static_cast<int>(failed.status), failed.vendor_err, text.causes,
                     text.remedy.empty() ? "" : " ", text.remedy);
}

}  // namespace rdmabench::verbs
