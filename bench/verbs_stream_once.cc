// verbs_stream_once COUNT SIZE SIGNAL_EVERY: our own stream of RDMA writes, for counting its
// instructions.
//
// Both queue pairs are in this process, as in versus/bare_verbs_loop.cc, the floor that this is
// held against. The loop is the one of `rdmabench bw`: workload::pump() over the verbs endpoint.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "rdmabench/transport/verbs/backend.h"
#include "rdmabench/workload/stream.h"

namespace {

using namespace rdmabench;

int stream(std::uint64_t count, std::uint64_t size, std::uint32_t signal_every) {
  namespace verbs = transport::verbs;
  transport::EndpointRequest request;
  request.operation = transport::OperationCode::write;
  request.latency = false;
  request.max_size = size;
  request.depth = 128;
  request.signal_every = signal_every;
  const std::string offer = verbs::offer(request);
  const transport::Choice choice = verbs::choose(request, offer, offer);
  verbs::Endpoint initiator(request, choice.client);
  verbs::Endpoint target(request, choice.server);
  initiator.connect(target.address());
  target.connect(initiator.address());
  initiator.prepare(request.operation, size);

  const workload::EpochPlan plan{.iterations = count, .size = size, .depth = request.depth};
  workload::Watch watch(std::chrono::seconds(10), nullptr);
  workload::EpochResult result;
  workload::Inbox<verbs::Endpoint> inbox(initiator, plan, watch, result);
  if (workload::pump<transport::Write, false>(initiator, plan, count, inbox, result)) return 0;
  std::fprintf(stderr, "verbs_stream_once: %s\n", initiator.failure().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: verbs_stream_once COUNT SIZE SIGNAL_EVERY\n");
    return 2;
  }
  try {
    return stream(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10),
                  static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "verbs_stream_once: %s\n", error.what());
    return 1;
  }
}
