#include "rdmabench/verbs/handles.h"

#include <fmt/format.h>

#include <cerrno>

#include "rdmabench/verbs/setup_error.h"

namespace rdmabench::verbs {

ProtectionDomain allocate_protection_domain(ibv_context& context) {
  ProtectionDomain domain(ibv_alloc_pd(&context));
  if (domain == nullptr) {
    const int code = errno;
    throw setup_error(SetupCall::alloc_pd,
                      fmt::format("ibv_alloc_pd({})", ibv_get_device_name(context.device)), code,
                      {.context = &context});
  }
  return domain;
}

CompletionQueue create_completion_queue(ibv_context& context, std::uint32_t entries) {
  CompletionQueue queue(
      ibv_create_cq(&context, static_cast<int>(entries), nullptr, nullptr, /*comp_vector=*/0));
  if (queue == nullptr) {
    const int code = errno;
    throw setup_error(
        SetupCall::create_cq,
        fmt::format("ibv_create_cq({}, {} entries)", ibv_get_device_name(context.device), entries),
        code, {.context = &context});
  }
  return queue;
}

}  // namespace rdmabench::verbs
