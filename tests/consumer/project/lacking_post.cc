// A mistake: a post that the endpoint type lacks.
#include <rdmabench/transport/loop/endpoint.h>
#include <rdmabench/workload/epoch_io.h>

namespace transport = rdmabench::transport;

struct Sends : transport::loop::Endpoint {
  template <class Op>
  static constexpr bool supports = Op::kTwoSided;
};

bool post(rdmabench::workload::EpochIo<Sends>& io) {
  return io.post<transport::Write>({}, transport::Signal::now);
}
