#include "rdmabench/verbs/handles.h"

#include <fmt/format.h>

#include <cerrno>

#include "rdmabench/base/error.h"

namespace rdmabench::verbs {

ProtectionDomain allocate_protection_domain(ibv_context& context) {
  ProtectionDomain domain(ibv_alloc_pd(&context));
  if (domain == nullptr) {
    throw Error(Fault::failed, fmt::format("ibv_alloc_pd({})", ibv_get_device_name(context.device)),
                "List what holds the device's objects with 'rdma resource show'.", errno);
  }
  return domain;
}

CompletionQueue create_completion_queue(ibv_context& context, std::uint32_t entries) {
  CompletionQueue queue(
      ibv_create_cq(&context, static_cast<int>(entries), nullptr, nullptr, /*comp_vector=*/0));
  if (queue == nullptr) {
    throw Error(
        Fault::failed,
        fmt::format("ibv_create_cq({}, {} entries)", ibv_get_device_name(context.device), entries),
        "Lower --depth, or list what holds the device's objects with 'rdma resource show'.", errno);
  }
  return queue;
}

}  // namespace rdmabench::verbs
