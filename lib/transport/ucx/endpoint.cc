#include "rdmabench/transport/ucx/endpoint.h"

namespace rdmabench::inline v1::transport::ucx {

static_assert(Transport<Endpoint>);
static_assert(Transport<ManyEndpoint>);
static_assert(Transport<ActiveEndpoint>);

template class EndpointOf<false>;
template class EndpointOf<true>;
template class EndpointOf<true, true>;

}  // namespace rdmabench::inline v1::transport::ucx
