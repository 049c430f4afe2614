// What a set-up call's errno means, in this situation: likely causes, what to try, and the limits
// of this machine and device that have to do with it.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rdmabench/base/error.h"

namespace rdmabench::verbs {

/// The calls whose failures are explained. `any` stands for what a number means whatever the call.
enum class SetupCall : std::uint8_t {
  any,
  get_device_list,
  open_device,
  query_device,
  query_port,
  query_gid,
  alloc_pd,
  open_xrcd,
  reg_mr,
  reg_dmabuf_mr,
  create_comp_channel,
  create_cq,
  create_srq,
  create_qp,
  modify_qp_init,
  modify_qp_rtr,
  modify_qp_rts,
  create_ah,
  attach_mcast,
  post_send,
  post_recv,
  post_srq_recv,
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

/// What is looked up, when the error is made, and said with its value. Bits of SetupText::facts.
namespace setup_fact {
enum Bit : std::uint32_t {
  kMemlock = 1U << 0U,      ///< the limit on locked memory; getrlimit(2)
  kOpenFiles = 1U << 1U,    ///< the limit on open files
  kDeviceFile = 1U << 2U,   ///< /dev/infiniband/uverbsN: there, and open to this user?
  kManagerFile = 1U << 3U,  ///< /dev/infiniband/rdma_cm, likewise
  kMaxPd = 1U << 4U,        ///< from here on: fields of ibv_device_attr
  kMaxMr = 1U << 5U,
  kMaxCq = 1U << 6U,
  kMaxCqe = 1U << 7U,
  kMaxQp = 1U << 8U,
  kMaxQpWr = 1U << 9U,
  kMaxSge = 1U << 10U,
  kMaxSrq = 1U << 11U,
  kMaxSrqWr = 1U << 12U,
  kMaxAh = 1U << 13U,
  kMaxReads = 1U << 14U,  ///< max_qp_rd_atom and max_qp_init_rd_atom
};
}  // namespace setup_fact

/// One row of the table.
struct SetupText {
  SetupCall call;
  int code;                 ///< a positive errno
  std::string_view causes;  ///< likely ones, without a full stop
  std::string_view remedy;  ///< whole sentences
  std::uint32_t facts = 0;  ///< of setup_fact
};

/// All rows: by call in the order of SetupCall, `any` last. docs/errors.md shows them.
/// Source: the calls' man pages, Linux drivers/infiniband/core.
std::span<const SetupText> setup_texts() noexcept;

/// The row for this call, else for any call, else null.
const SetupText* find_setup_text(SetupCall call, int code) noexcept;

/// What a call was made on, as far as it exists yet.
struct SetupSubject {
  ibv_context* context = nullptr;      ///< its limits are asked for and named
  const ibv_device* device = nullptr;  ///< where there is no context; its file is looked at
};

/// The error to throw when `call` gave `code`, a positive errno or 0 where it told none. `what`
/// names the call with its arguments: "ibv_create_cq(rxe0, 70000 entries)".
Error setup_error(SetupCall call, std::string_view what, int code, SetupSubject subject = {},
                  Fault fault = Fault::failed);

/// What that error says after the errno: "Likely: CAUSES (FACTS). REMEDY". For a failure that is
/// told later, as by an endpoint's failure().
std::string setup_remedy(SetupCall call, int code, SetupSubject subject = {});

/// A verb's result as a positive errno: some verbs return it, some return -1 and set errno.
int verb_errno(int result) noexcept;

/// Whether this user may read and write a device's file.
struct DeviceFile {
  bool open;
  std::string text;  ///< "PATH is not there", "PATH is closed to user 1000 (mode 0600 of 0:0)", ...
};
/// Source: access(2), stat(2).
DeviceFile look_at(const std::string& path);

}  // namespace rdmabench::verbs
