#include "rdmabench/verbs/handles.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include "rdmabench/base/error.h"
#include "verbs/setup_error.h"

namespace rdmabench::inline v1::verbs {
namespace {

const char* device_name(const ibv_context& context) {
  return ibv_get_device_name(context.device);
}

}  // namespace

int close_xrc_domain(ibv_xrcd* domain) noexcept {
  return ibv_close_xrcd(domain);
}

ProtectionDomain allocate_protection_domain(ibv_context& context) {
  ProtectionDomain domain(ibv_alloc_pd(&context));
  if (domain == nullptr) {
    const int code = errno;
    throw setup_error(SetupCall::alloc_pd, fmt::format("ibv_alloc_pd({})", device_name(context)),
                      code, {.context = &context});
  }
  return domain;
}

CompletionQueue create_completion_queue(ibv_context& context, std::uint32_t entries,
                                        ibv_comp_channel* channel, int vector) {
  CompletionQueue queue(
      ibv_create_cq(&context, static_cast<int>(entries), nullptr, channel, vector));
  if (queue == nullptr) {
    const int code = errno;
    throw setup_error(SetupCall::create_cq,
                      fmt::format("ibv_create_cq({}, {} entries{})", device_name(context), entries,
                                  vector == 0 ? "" : fmt::format(", completion vector {}", vector)),
                      code, {.context = &context});
  }
  return queue;
}

SharedReceiveQueue create_shared_receive_queue(ibv_pd& domain, std::uint32_t receives) {
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = receives;
  attributes.attr.max_sge = 1;
  SharedReceiveQueue queue(ibv_create_srq(&domain, &attributes));
  if (queue == nullptr) {
    const int code = errno;
    throw setup_error(
        SetupCall::create_srq,
        fmt::format("ibv_create_srq({}, {} receives)", device_name(*domain.context), receives),
        code, {.context = domain.context});
  }
  return queue;
}

XrcDomain open_xrc_domain(ibv_context& context) {
  ibv_xrcd_init_attr attributes{};
  attributes.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  attributes.fd = -1;  // not shared with another process
  attributes.oflags = O_CREAT;
  XrcDomain domain(ibv_open_xrcd(&context, &attributes));
  if (domain == nullptr) {
    const int code = errno;
    throw setup_error(SetupCall::open_xrcd, fmt::format("ibv_open_xrcd({})", device_name(context)),
                      code, {.context = &context}, Fault::unavailable);
  }
  return domain;
}

SharedReceiveQueue create_xrc_receive_queue(ibv_pd& domain, ibv_xrcd& xrc_domain,
                                            ibv_cq& completions, std::uint32_t receives) {
  ibv_srq_init_attr_ex attributes{};
  attributes.attr.max_wr = receives;
  attributes.attr.max_sge = 1;
  attributes.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD;
  attributes.srq_type = IBV_SRQT_XRC;
  attributes.pd = &domain;
  attributes.xrcd = &xrc_domain;
  attributes.cq = &completions;
  SharedReceiveQueue queue(ibv_create_srq_ex(domain.context, &attributes));
  if (queue == nullptr) {
    const int code = errno;
    throw setup_error(SetupCall::create_srq,
                      fmt::format("ibv_create_srq_ex({}, XRC, {} receives)",
                                  device_name(*domain.context), receives),
                      code, {.context = domain.context});
  }
  return queue;
}

std::uint32_t xrc_receive_queue_number(ibv_srq& queue) {
  std::uint32_t number = 0;
  if (const int code = ibv_get_srq_num(&queue, &number); code != 0) {
    throw Error(Fault::failed, fmt::format("ibv_get_srq_num({})", device_name(*queue.context)), "",
                code);
  }
  return number;
}

}  // namespace rdmabench::inline v1::verbs
