// ucx_stream_once send COUNT SIZE SIGNAL_EVERY POST_LIST: see stream_once.h. Over UCX's tcp, which
// takes so many short messages at once; tagged, or active where RDMABENCH_ACTIVE is set.
#include "rdmabench/transport/ucx/endpoint.h"
#include "stream_once.h"

int main(int argc, char** argv) {
  using namespace rdmabench;
  using transport::OperationCode;
  return bench::stream_once(
      argc, argv, {OperationCode::send},
      [&](transport::EndpointRequest request, OperationCode operation) {
        request.options.ucx.transports = "tcp";
        if (std::getenv("RDMABENCH_ACTIVE") == nullptr) {
          return bench::stream<transport::ucx::Endpoint>(request, {}, argv, operation);
        }
        request.options.service = transport::Service::am;
        return bench::stream<transport::ucx::ActiveEndpoint>(request, {}, argv, operation);
      });
}
