#include <algorithm>

#include "rdmabench/transport/verbs/core.h"
#include "transport/verbs/operation_needs.h"
#include "verbs/dynamic.h"
#include "verbs/queue_pair.h"
#include "verbs/scalable.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

namespace ibv = rdmabench::verbs;

ibv_qp_type queue_pair_type(Service service) {
  return service == Service::uc    ? IBV_QPT_UC
         : service == Service::ud  ? IBV_QPT_UD
         : service == Service::xrc ? IBV_QPT_XRC_SEND
                                   : IBV_QPT_RC;
}

/// Where none was chosen workers take them in turn: the interrupts of one vector are one CPU's.
int completion_vector(const ibv_context& context, const EndpointRequest& request) {
  if (request.options.verbs.completion_vector >= 0) return request.options.verbs.completion_vector;
  const auto vectors = static_cast<std::uint32_t>(std::max(context.num_comp_vectors, 1));
  return static_cast<int>(request.worker % vectors);
}

ibv::CompletionQueueSpec completion_queues(const ibv_context& context, const Plan& plan,
                                           const EndpointRequest& request) {
  // make_plan() has checked the sum against max_cqe, which is an int. One to spare.
  const std::uint32_t sends = plan.queue_pairs * plan.depth;
  const std::uint32_t receives = plan.queue_pairs * plan.receives;
  return {.sends = plan.separate_queues ? sends : sends + receives + 1,
          .receives = plan.separate_queues ? receives : 0,
          .events = request.options.events,
          .vector = completion_vector(context, request)};
}

}  // namespace

Queues::Queues(ibv_context& context, ibv_pd& domain, Plan& plan, const EndpointRequest& request,
               std::uint64_t dc_key, bool gpu_memory)
    : completions(context, completion_queues(context, plan, request)),
      inline_bytes(plan.inline_bytes) {
  const bool xrc = plan.service == Service::xrc;
  if (xrc) {
    xrc_domain = ibv::open_xrc_domain(context);
    shared_receives = ibv::create_xrc_receive_queue(domain, *xrc_domain, *completions.receives(),
                                                    plan.queue_pairs * plan.receives);
  } else if (plan.shared_receives) {
    shared_receives = ibv::create_shared_receive_queue(domain, plan.queue_pairs * plan.receives);
  }
  const std::uint32_t queue_pairs_each =
      (plan.queue_pairs + plan.local_queue_pairs - 1) / plan.local_queue_pairs;
  ibv::QueuePairSpec spec{.type = queue_pair_type(plan.service),
                          .send_completions = completions.sends(),
                          .receive_completions = completions.receives(),
                          .shared_receives = xrc ? nullptr : shared_receives.get(),
                          .sends = queue_pairs_each * plan.depth,
                          .receives = queue_pairs_each * plan.receives,
                          .segments = plan.segments,
                          .inline_bytes = plan.inline_bytes,
                          .posting = plan.extended ? posting(request.operations) : 0,
                          .gpu_memory = gpu_memory};
  const auto create = [&] {
    if (plan.service == Service::dc) {
      return ibv::create_initiator(domain, spec, request.operations.any(is_atomic));
    }
    if (plan.service == Service::srd) {
      return ibv::create_scalable(domain, spec, plan.scalable);
    }
    return ibv::create_queue_pair(domain, spec);
  };
  for (std::uint32_t i = 0; i < plan.local_queue_pairs; ++i) {
    ibv::SizedQueuePair sized = create();
    // What the first was refused, the others need not ask for.
    inline_bytes = spec.inline_bytes = std::min(spec.inline_bytes, sized.inline_bytes);
    spec.sends = sized.sends;
    if (!plan.shared_receives) spec.receives = sized.receives;
    pairs.push_back(std::move(sized.queue_pair));
  }
  fit_granted(plan, spec.sends / queue_pairs_each, spec.receives / queue_pairs_each,
              ibv_get_device_name(context.device));
  for (std::uint32_t i = 0; plan.has_receivers() && i < plan.local_queue_pairs; ++i) {
    receivers.push_back(xrc ? ibv::create_queue_pair(domain, {.type = IBV_QPT_XRC_RECV,
                                                              .xrc_domain = xrc_domain.get(),
                                                              .gpu_memory = gpu_memory})
                                  .queue_pair
                            : ibv::create_target(domain, spec, dc_key));
  }
}

}  // namespace rdmabench::inline v1::transport::verbs
