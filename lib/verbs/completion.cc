#include "verbs/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rdmabench::inline v1::verbs {
namespace {

constexpr std::string_view kNotUsed =
    "rdmabench does not use the feature that this status belongs to.";
constexpr std::string_view kDriver = "The device or its driver is faulty.";
constexpr std::string_view kDmesg = "Check 'dmesg'; update firmware and driver.";
constexpr std::string_view kReport = "Report this text as a bug of rdmabench.";

struct Entry {
  ibv_wc_status status;
  StatusText text;
};

constexpr std::array<Entry, kStatuses> kStatusTexts{{
    {IBV_WC_SUCCESS, {"IBV_WC_SUCCESS", "the request succeeded", "", ""}},
    {IBV_WC_LOC_LEN_ERR,
     {"IBV_WC_LOC_LEN_ERR", "a message was longer than its receive buffer",
      "The two sides use different message sizes; or, over UD, the message is longer than the path "
      "MTU, or the receive buffer lacks the 40 bytes of the global header; or the message exceeds the "
      "port's maximum message size.",
      "Run the same release on both sides; over UD, use `sizes` of at most the MTU."}},
    {IBV_WC_LOC_QP_OP_ERR,
     {"IBV_WC_LOC_QP_OP_ERR", "the local queue pair could not execute the request",
      "The device does not support the request: too much inline data, too many scatter/gather "
      "entries, or an operation that this device or queue pair type lacks. On Soft-RoCE also: the "
      "port's network device is down or has no route to the peer.",
      "Check 'rdma link'; try an `inline_limit` of 0, or another operation."}},
    {IBV_WC_LOC_EEC_OP_ERR,
     {"IBV_WC_LOC_EEC_OP_ERR", "a local EE context operation failed", kNotUsed, ""}},
    {IBV_WC_LOC_PROT_ERR,
     {"IBV_WC_LOC_PROT_ERR", "a local buffer is outside its memory region",
      "The memory was unmapped during the run (a truncated file, freed GPU memory); or the key, "
      "address, length or protection domain is wrong, which is a bug of rdmabench.",
      "Try `memory` host; if the error remains, report this text as a bug of rdmabench."}},
    {IBV_WC_WR_FLUSH_ERR,
     {"IBV_WC_WR_FLUSH_ERR",
      "the request was flushed because the queue pair was already in the error state",
      "The cause is the first failure of this queue pair. Without an earlier failure: the peer "
      "closed its queue pair, the port went down, or the device was reset.",
      "Find the first error; check the peer's output and 'dmesg'."}},
    {IBV_WC_MW_BIND_ERR,
     {"IBV_WC_MW_BIND_ERR", "a memory window could not be bound", kNotUsed, ""}},
    {IBV_WC_BAD_RESP_ERR,
     {"IBV_WC_BAD_RESP_ERR", "the peer sent an invalid response",
      "Packets were corrupted, or the peer's device or its driver is faulty.", kDmesg}},
    {IBV_WC_LOC_ACCESS_ERR,
     {"IBV_WC_LOC_ACCESS_ERR", "the local receive buffer does not allow writes",
      "The memory was unmapped during the run; or a bug of rdmabench.", kReport}},
    {IBV_WC_REM_INV_REQ_ERR,
     {"IBV_WC_REM_INV_REQ_ERR", "the peer rejected the request as invalid",
      "The message is longer than the peer's receive buffer; the peer's queue pair does not allow "
      "this operation; an atomic is not 8 bytes at an address that is a multiple of 8; or more reads "
      "and atomics were outstanding than the peer accepts.",
      "Run the same release with the same options on both sides; lower the outstanding reads."}},
    {IBV_WC_REM_ACCESS_ERR,
     {"IBV_WC_REM_ACCESS_ERR", "the peer denied access to its memory",
      "The remote key is invalid, or address and length are outside the peer's memory region; the "
      "region or the queue pair does not allow this operation (remote write, read, atomic); or the "
      "peer has deregistered the region.",
      "Check the peer's output; run the same release on both sides."}},
    {IBV_WC_REM_OP_ERR,
     {"IBV_WC_REM_OP_ERR", "the peer could not execute the request",
      "The peer's receive or its device failed.", "Check the peer's error."}},
    {IBV_WC_RETRY_EXC_ERR,
     {"IBV_WC_RETRY_EXC_ERR", "the peer did not acknowledge; all retries timed out",
      "The peer process, its queue pair or its link is down; the two GIDs cannot reach each other "
      "(wrong `gid_index`, VLAN or subnet, or a firewall blocks UDP port 4791); the two ports are of "
      "separate fabrics or rails, which a link-local GID or InfiniBand's default subnet prefix does "
      "not tell; the network's MTU is "
      "below the path MTU plus headers; the partition keys differ; or the fabric drops packets (no "
      "flow control for this traffic class).",
      "Check that the peer still runs; ping it from this GID's network device with packets of the "
      "MTU ('ping -I IFACE -M do -s SIZE PEER'); try another `gid_index` or a smaller `mtu`; name the "
      "devices of one rail on both sides."}},
    {IBV_WC_RNR_RETRY_EXC_ERR,
     {"IBV_WC_RNR_RETRY_EXC_ERR", "the peer had no receive posted; all RNR retries failed",
      "The receiver is slower than the sender, or its process is stopped (swapping, SIGSTOP, a debugger).",
      "Check that the peer still runs; lower `depth`, or raise the peer's number of receives and "
      "the RNR retry count."}},
    {IBV_WC_LOC_RDD_VIOL_ERR,
     {"IBV_WC_LOC_RDD_VIOL_ERR", "the RD domain does not match", kNotUsed, ""}},
    {IBV_WC_REM_INV_RD_REQ_ERR,
     {"IBV_WC_REM_INV_RD_REQ_ERR", "an RD request is invalid", kNotUsed, ""}},
    {IBV_WC_REM_ABORT_ERR,
     {"IBV_WC_REM_ABORT_ERR", "the peer aborted the request",
      "The peer's queue pair was reset, its XRC domain was closed, or its device is faulty.",
      "Check the peer's output and its 'dmesg'."}},
    {IBV_WC_INV_EECN_ERR, {"IBV_WC_INV_EECN_ERR", "an EE context number is invalid", kNotUsed, ""}},
    {IBV_WC_INV_EEC_STATE_ERR,
     {"IBV_WC_INV_EEC_STATE_ERR", "an EE context is in the wrong state", kNotUsed, ""}},
    {IBV_WC_FATAL_ERR, {"IBV_WC_FATAL_ERR", "the device failed", kDriver, kDmesg}},
    {IBV_WC_RESP_TIMEOUT_ERR,
     {"IBV_WC_RESP_TIMEOUT_ERR", "a response timed out",
      "The peer acknowledged a read or an atomic and sent no response; or its device is faulty.",
      "Check that the peer still runs, and its 'dmesg'."}},
    {IBV_WC_GENERAL_ERR,
     {"IBV_WC_GENERAL_ERR", "the device reported an unspecified error",
      "The device or its driver is faulty; the vendor can decode the vendor error.", kDmesg}},
    {IBV_WC_TM_ERR, {"IBV_WC_TM_ERR", "tag matching failed", kNotUsed, ""}},
    {IBV_WC_TM_RNDV_INCOMPLETE,
     {"IBV_WC_TM_RNDV_INCOMPLETE", "a tag-matching rendezvous is not complete", kNotUsed, ""}},
}};

}  // namespace

StatusText explain(ibv_wc_status status) noexcept {
  const auto* found = std::find_if(kStatusTexts.begin(), kStatusTexts.end(),
                                   [status](const Entry& entry) { return entry.status == status; });
  if (found != kStatusTexts.end()) return found->text;
  return {"unknown status", "this build does not know the status", kDriver, kDmesg};
}

std::string to_text(const ibv_wc& failed) {
  const StatusText text = explain(failed.status);
  return fmt::format("{} ({} = {}, vendor error {:#x}). {}{}{}", text.meaning, text.name,
                     static_cast<int>(failed.status), failed.vendor_err, text.causes,
                     text.remedy.empty() ? "" : " ", text.remedy);
}

}  // namespace rdmabench::inline v1::verbs
