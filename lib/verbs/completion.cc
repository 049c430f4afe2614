#include "rdmabench/verbs/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rdmabench::verbs {
namespace {

constexpr std::string_view kNotUsed = "rdmabench does not use the feature this status belongs to.";
constexpr std::string_view kDriver = "A fault of the device or its driver: look at 'dmesg'.";

struct Entry {
  ibv_wc_status status;
  StatusText text;
};

constexpr std::array<Entry, 24> kStatuses{{
    {IBV_WC_SUCCESS, {"IBV_WC_SUCCESS", "it succeeded", ""}},
    {IBV_WC_LOC_LEN_ERR,
     {"IBV_WC_LOC_LEN_ERR", "a message was longer than the buffer it was to land in",
      "The two sides disagree on the message size, or the message is longer than the port takes."}},
    {IBV_WC_LOC_QP_OP_ERR,
     {"IBV_WC_LOC_QP_OP_ERR", "this side's queue pair could not carry the request out",
      "A request the device does not take: too much inline data, or an unsupported operation."}},
    {IBV_WC_LOC_EEC_OP_ERR, {"IBV_WC_LOC_EEC_OP_ERR", "a local EE context failed", kNotUsed}},
    {IBV_WC_LOC_PROT_ERR,
     {"IBV_WC_LOC_PROT_ERR", "a local buffer is not covered by its memory region",
      "The buffer's key or bounds are wrong: a fault of rdmabench."}},
    {IBV_WC_WR_FLUSH_ERR,
     {"IBV_WC_WR_FLUSH_ERR", "it was dropped because the queue pair was already in error",
      "The first failure on this queue pair is the cause; this is one of its followers. If there "
      "is none, the port went down or the device was reset."}},
    {IBV_WC_MW_BIND_ERR, {"IBV_WC_MW_BIND_ERR", "a memory window could not be bound", kNotUsed}},
    {IBV_WC_BAD_RESP_ERR,
     {"IBV_WC_BAD_RESP_ERR", "the peer gave an answer that does not fit the request",
      "Corrupt packets, or a fault of the peer's device or its driver."}},
    {IBV_WC_LOC_ACCESS_ERR,
     {"IBV_WC_LOC_ACCESS_ERR", "the local buffer of a write with immediate may not be written",
      "A fault of rdmabench, or memory that was unmapped during the run."}},
    {IBV_WC_REM_INV_REQ_ERR,
     {"IBV_WC_REM_INV_REQ_ERR", "the peer refused the request as invalid",
      "The message is longer than the receive posted for it, or the peer's queue pair does not "
      "allow this operation: the two sides disagree on size or operation."}},
    {IBV_WC_REM_ACCESS_ERR,
     {"IBV_WC_REM_ACCESS_ERR", "the peer's memory may not be touched there",
      "The remote key, the address or the length is outside the peer's window, or the window does "
      "not allow this operation; or the peer closed it already."}},
    {IBV_WC_REM_OP_ERR,
     {"IBV_WC_REM_OP_ERR", "the peer could not carry the request out",
      "The peer's own receive failed: its error says why."}},
    {IBV_WC_RETRY_EXC_ERR,
     {"IBV_WC_RETRY_EXC_ERR", "the peer did not acknowledge, however often it was asked",
      "The peer process or its link is gone; the GIDs do not reach each other (wrong --gid-index, "
      "VLAN or subnet, UDP port 4791 blocked by a firewall); the network's MTU is below the path "
      "MTU plus headers; or the fabric loses packets."}},
    {IBV_WC_RNR_RETRY_EXC_ERR,
     {"IBV_WC_RNR_RETRY_EXC_ERR", "the peer had no receive posted, however often it was asked",
      "The receiver is slower than the sender or has stopped."}},
    {IBV_WC_LOC_RDD_VIOL_ERR, {"IBV_WC_LOC_RDD_VIOL_ERR", "an RDD does not match", kNotUsed}},
    {IBV_WC_REM_INV_RD_REQ_ERR,
     {"IBV_WC_REM_INV_RD_REQ_ERR", "an RD request is invalid", kNotUsed}},
    {IBV_WC_REM_ABORT_ERR, {"IBV_WC_REM_ABORT_ERR", "the peer aborted the request", kDriver}},
    {IBV_WC_INV_EECN_ERR, {"IBV_WC_INV_EECN_ERR", "an EE context number is invalid", kNotUsed}},
    {IBV_WC_INV_EEC_STATE_ERR,
     {"IBV_WC_INV_EEC_STATE_ERR", "an EE context is in the wrong state", kNotUsed}},
    {IBV_WC_FATAL_ERR, {"IBV_WC_FATAL_ERR", "the device failed", kDriver}},
    {IBV_WC_RESP_TIMEOUT_ERR, {"IBV_WC_RESP_TIMEOUT_ERR", "a response timed out", kDriver}},
    {IBV_WC_GENERAL_ERR,
     {"IBV_WC_GENERAL_ERR", "the device reported an error of its own", kDriver}},
    {IBV_WC_TM_ERR, {"IBV_WC_TM_ERR", "tag matching failed", kNotUsed}},
    {IBV_WC_TM_RNDV_INCOMPLETE,
     {"IBV_WC_TM_RNDV_INCOMPLETE", "a tag-matching rendezvous is not complete", kNotUsed}},
}};

}  // namespace

StatusText explain(ibv_wc_status status) noexcept {
  const auto* found = std::find_if(kStatuses.begin(), kStatuses.end(),
                                   [status](const Entry& entry) { return entry.status == status; });
  if (found != kStatuses.end()) return found->text;
  return {"unknown status", "a status this build does not know", kDriver};
}

std::string to_text(const ibv_wc& failed) {
  const StatusText text = explain(failed.status);
  return fmt::format("{} ({} = {}, vendor error {:#x}). {}", text.meaning, text.name,
                     static_cast<int>(failed.status), failed.vendor_err, text.causes);
}

}  // namespace rdmabench::verbs
