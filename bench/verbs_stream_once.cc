// verbs_stream_once OP COUNT SIZE SIGNAL_EVERY POST_LIST: our own stream, for counting its
// instructions. OP is send, write or read, COUNT at most
// 16000.
//
// Both queue pairs are in this process and one thread drives them, as in versus/bare_verbs_loop.cc,
// the floor that this is held against. The loops are those of `rdmabench bw`. A target of sends
// finds all of them arrived when its turn comes.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "rdmabench/transport/verbs/endpoint.h"
#include "rdmabench/workload/loops.h"
#include "transport/verbs/backend.h"

namespace {

using namespace rdmabench;
namespace verbs = transport::verbs;
using transport::OperationCode;

transport::EndpointRequest request_for(OperationCode operation, char** argv) {
  transport::EndpointRequest request;
  request.operations = operation;
  request.latency = false;
  request.max_size = std::strtoull(argv[3], nullptr, 10);
  request.depth = 128;
  request.send_slots = 64;
  request.receive_slots = 64;
  request.signal_every = static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10));
  request.options.post_list = static_cast<std::uint32_t>(std::strtoul(argv[5], nullptr, 10));
  // As many for every COUNT, so that set-up is the same and drops out of the difference.
  request.receives = transport::notifies(operation) ? 16384 : 8;
  return request;
}

bool run(verbs::Endpoint& endpoint, const workload::LoopKey& key, const workload::EpochPlan& plan) {
  workload::Watch watch(std::chrono::seconds(10), nullptr);
  const workload::Loop<verbs::Endpoint> loop = workload::find_loop<verbs::Endpoint>(key).loop;
  if (loop(endpoint, plan, watch, {}).outcome == workload::Outcome::ok) return true;
  std::fprintf(stderr, "verbs_stream_once: %s\n", endpoint.failure().c_str());
  return false;
}

/// The confirmation that the initiator waits for at its end is on its way before it begins.
void confirm_early(verbs::Endpoint& target) {
  target.post<transport::Send>(0, 0, 0, 0, transport::Signal::now);
  while (target.completed() != target.posted()) {
    if (target.poll([](const transport::Received&) noexcept {}) < 0) return;
  }
}

int stream(OperationCode operation, char** argv) {
  const transport::EndpointRequest request = request_for(operation, argv);
  const std::string offer = verbs::offer(request);
  const transport::Choice choice = verbs::choose(request, offer, offer);
  verbs::Endpoint initiator(request, choice.client);
  verbs::Endpoint target(request, choice.server);
  initiator.connect(target.address());
  target.connect(initiator.address());
  workload::EpochPlan plan;
  plan.iterations = std::strtoull(argv[2], nullptr, 10);
  plan.size = request.max_size;
  plan.depth = request.depth;
  plan.receives = request.receives;
  plan.post_list = request.options.post_list;
  confirm_early(target);

  workload::LoopKey key{.shape = workload::Shape::bandwidth, .operation = operation};
  if (!run(initiator, key, plan)) return 1;
  key.side = workload::Side::target;
  return run(target, key, plan) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc == 6 ? argv[1] : "";
  for (const OperationCode code :
       {OperationCode::send, OperationCode::write, OperationCode::read}) {
    if (name != transport::name(code)) continue;
    try {
      return stream(code, argv);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "verbs_stream_once: %s\n", error.what());
      return 1;
    }
  }
  std::fprintf(stderr,
               "usage: verbs_stream_once send|write|read COUNT SIZE SIGNAL_EVERY POST_LIST\n");
  return 2;
}
