// verbs_stream_once OP COUNT SIZE SIGNAL_EVERY POST_LIST: see stream_once.h. OP is send, write or
// read.
#include "rdmabench/transport/verbs/endpoint.h"
#include "stream_once.h"
#include "transport/verbs/backend.h"

int main(int argc, char** argv) {
  using namespace rdmabench;
  using transport::OperationCode;
  return bench::stream_once(
      argc, argv, {OperationCode::send, OperationCode::write, OperationCode::read},
      [&](const transport::EndpointRequest& request, OperationCode operation) {
        const std::string offer = transport::verbs::offer(request);
        return bench::stream<transport::verbs::Endpoint>(
            request, transport::verbs::choose(request, offer, offer), argv, operation);
      });
}
