#include "rdmabench/transport/ucx/endpoint.h"

namespace rdmabench::inline v1::transport::ucx {

static_assert(Transport<Endpoint>);
static_assert(Transport<ManyEndpoint>);

template class EndpointOf<false>;
template class EndpointOf<true>;

}  // namespace rdmabench::inline v1::transport::ucx
