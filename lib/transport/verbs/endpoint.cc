#include "rdmabench/transport/verbs/endpoint.h"

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

static_assert(Transport<Endpoint>);
static_assert(Transport<GeneralEndpoint>);
static_assert(Transport<DatagramEndpoint>);
static_assert(Transport<ExtendedEndpoint>);
#if RDMABENCH_HAVE_MLX5
static_assert(Transport<DynamicEndpoint>);
#endif
#if RDMABENCH_HAVE_EFA
static_assert(Transport<ScalableEndpoint>);
#endif

Posting posting_of(const EndpointRequest& request) {
  if (request.operations.any(is_extended)) return Posting::connected;
  if (request.options.service == Service::dc) return Posting::dynamic;
  return request.options.service == Service::srd ? Posting::scalable : Posting::lists;
}

/// Throws where a caller picked a type that does not do what the request asks for.
const EndpointRequest& check_policy(const EndpointRequest& request, bool fits) {
  service_of(request);  // what this build lacks is not the caller's mistake
  if (fits) return request;
  throw Error(Fault::usage, "this endpoint type does not fit the request",
              "Let with_endpoint_type() choose it.");
}

template <class Policy>
bool fits(const EndpointRequest& request) {
  if (Policy::kPosting != posting_of(request)) return false;
  if (Policy::kReliable != is_reliable(request.options.service)) return false;
  return Policy::kManyQueuePairs || is_lean(request);
}

int post_to_queue_pair(void* queue, ibv_recv_wr* request, ibv_recv_wr** refused) noexcept {
  return ibv_post_recv(static_cast<ibv_qp*>(queue), request, refused);
}

int post_to_shared_queue(void* queue, ibv_recv_wr* request, ibv_recv_wr** refused) noexcept {
  return ibv_post_srq_recv(static_cast<ibv_srq*>(queue), request, refused);
}

}  // namespace

bool is_lean(const EndpointRequest& request) noexcept {
  return (request.options.service == Service::automatic ||
          request.options.service == Service::rc) &&
         request.options.queue_pairs == 1 && request.options.segments == 1 &&
         !request.options.verbs.shared_receives && !request.options.separate_queues &&
         !request.options.events;
}

int post_to_keyed_queue(void* queue, ibv_recv_wr* request, ibv_recv_wr** refused) noexcept {
  const KeyedQueue& to = *static_cast<const KeyedQueue*>(queue);
  request->sg_list->lkey = to.local_key;
  return ibv_post_recv(to.queue_pair, request, refused);
}

template <class Policy>
BasicEndpoint<Policy>::BasicEndpoint(const EndpointRequest& request, std::string_view choice)
    : Core(check_policy(request, fits<Policy>(request)), choice),
      post_receive_call_(queues_.shared_receives != nullptr ? post_to_shared_queue
                         : has_keyed_queues()               ? post_to_keyed_queue
                                                            : post_to_queue_pair) {
  if constexpr (kManyQueuePairs) send_queues_.resize(queue_pairs());
  build(send_queues_);
}

template class BasicEndpoint<Lean>;
template class BasicEndpoint<General>;
template class BasicEndpoint<Datagram>;
template class BasicEndpoint<Extended>;
#if RDMABENCH_HAVE_MLX5
template class BasicEndpoint<Dynamic>;
#endif
#if RDMABENCH_HAVE_EFA
template class BasicEndpoint<Scalable>;
#endif

}  // namespace rdmabench::inline v1::transport::verbs
