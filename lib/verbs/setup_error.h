// Explains the errno of a set-up call: likely causes, related limits of this machine and device,
// and what to try.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::verbs {

/// The calls whose failures are explained. `any`: the meaning of an errno for every other call.
enum class SetupCall : std::uint8_t {
  any,
  get_device_list,
  open_device,
  query_device,
  query_port,
  query_gid,
  alloc_pd,
  open_xrcd,
  create_comp_channel,
  create_cq,
  create_srq,
  create_qp,
  modify_qp_init,
  modify_qp_rtr,
  modify_qp_rts,
  create_ah,
  create_event_channel,  ///< rdma_create_event_channel(3), and so on to the end
  create_id,
  bind_addr,
  listen,
  resolve_addr,
  resolve_route,
  connect,
  accept,
};
inline constexpr std::size_t kSetupCalls = static_cast<std::size_t>(SetupCall::accept) + 1;

/// "ibv_modify_qp to RTR"; "any call" for `any`.
std::string_view name(SetupCall call) noexcept;

/// Facts that are looked up when the error is made, and reported with their values. Bits of
/// SetupText::facts.
namespace setup_fact {
enum Bit : std::uint32_t {
  kMemlock = 1U << 0U,      ///< the limit on locked memory; getrlimit(2)
  kOpenFiles = 1U << 1U,    ///< the limit on open files
  kDeviceFile = 1U << 2U,   ///< whether /dev/infiniband/uverbsN exists and is accessible
  kManagerFile = 1U << 3U,  ///< the same for /dev/infiniband/rdma_cm
  kMaxPd = 1U << 4U,        ///< from here on: fields of ibv_device_attr
  kMaxCq = 1U << 5U,
  kMaxCqe = 1U << 6U,
  kMaxQp = 1U << 7U,
  kMaxQpWr = 1U << 8U,
  kMaxSge = 1U << 9U,
  kMaxSrq = 1U << 10U,
  kMaxSrqWr = 1U << 11U,
  kMaxAh = 1U << 12U,
  kMaxReads = 1U << 13U,  ///< max_qp_rd_atom and max_qp_init_rd_atom
};
}  // namespace setup_fact

/// One row of the table.
struct SetupText {
  SetupCall call;
  int code;                 ///< a positive errno
  std::string_view causes;  ///< likely causes, without a full stop
  std::string_view remedy;  ///< whole sentences
  std::uint32_t facts = 0;  ///< bits of setup_fact
};

/// All rows, in the order of SetupCall with `any` last. docs/errors.md lists them.
/// Source: the calls' man pages, Linux drivers/infiniband/core.
std::span<const SetupText> setup_texts() noexcept;

/// The row of this call, else the row of SetupCall::any, else null.
const SetupText* find_setup_text(SetupCall call, int code) noexcept;

/// The device that a call was made on.
struct SetupSubject {
  ibv_context* context = nullptr;      ///< its limits are reported
  const ibv_device* device = nullptr;  ///< if there is no context; its file is checked
};

/// The error to throw when `call` failed with `code`, a positive errno or 0 if there is none.
/// `what` names the call with its arguments: "ibv_create_cq(rxe0, 70000 entries)".
Error setup_error(SetupCall call, std::string_view what, int code, SetupSubject subject = {},
                  Fault fault = Fault::failed);

/// The part of that error's text behind the errno: "Likely: CAUSES (FACTS). REMEDY". For failures
/// that are reported later, such as an endpoint's failure().
std::string setup_remedy(SetupCall call, int code, SetupSubject subject = {});

/// The result of a verb as a positive errno: some verbs return it, others return -1 and set errno.
int verb_errno(int result) noexcept;

/// Whether this user may read and write a device's file.
struct DeviceFile {
  bool open;
  std::string text;  ///< "PATH does not exist", "PATH is not accessible to user 1000 (mode 0600,
                     ///< owner 0:0)"
};
/// Source: access(2), stat(2).
DeviceFile look_at(const std::string& path);

}  // namespace rdmabench::inline v1::verbs
