#include "negotiate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "memory/gpu_memory.h"
#include "rdmabench/base/error.h"
#include "run/options.h"
#include "run/pattern_table.h"
#include "transport/session_request.h"

namespace rdmabench::inline v1::run {
namespace {

// Without persistence mode the first use of a GPU's driver wakes every GPU of the server.
constexpr std::chrono::seconds kDriverWake{60};

/// The request for each device of the client; one request where no device was named.
std::vector<transport::EndpointRequest> rail_requests(const SessionSpec& spec,
                                                      const Placement& placement) {
  transport::EndpointRequest request = endpoint_request(spec, true);
  request.gid_index = placement.gid_index;
  request.memory = placement.memory;
  request.numa = placement.numa;
  request.fabric = placement.fabric;
  request.local_ip = placement.source_ip;
  const std::vector<std::string>& devices = placement.devices;
  std::vector<transport::EndpointRequest> rails(std::max<std::size_t>(devices.size(), 1), request);
  for (std::size_t i = 0; i < devices.size(); ++i) rails[i].device = devices[i];
  return rails;
}

bool is_gpu(std::string_view memory) {
  return memory::parse_request(memory).kind == memory::Kind::cuda;
}

/// The server's memory: of the client's kind unless it is named, so that a user who names a GPU
/// measures from GPU to GPU.
std::string peer_memory(const Placement& placement) {
  if (!placement.peer_memory.empty()) return placement.peer_memory;
  const memory::Request own = memory::parse_request(placement.memory);
  switch (own.kind) {
    case memory::Kind::huge:
      return "huge";
    case memory::Kind::cuda:
      return own.vmm ? "cuda:auto,vmm" : "cuda:auto";
    default:
      return "host";
  }
}

/// What is not in a SessionSpec.
void check_config(const Config& config) {
  check_bounds(config);
  config.stop.check();
  if (!config.counts.empty() && config.counts.size() != config.sizes.size()) {
    throw Error(Fault::usage, fmt::format("{} counts of messages for {} sizes",
                                          config.counts.size(), config.sizes.size()));
  }
  if (config.sizes.empty())
    throw Error(Fault::usage, "`sizes` is empty", "Give at least one, such as `sizes` 8.");
  const std::uint64_t least = least_size(config.traffic.pattern);
  for (const std::uint64_t size : config.sizes) {
    if (size < least) {
      throw Error(Fault::usage,
                  fmt::format("`sizes` {} with the pattern '{}'", size, config.traffic.pattern),
                  fmt::format("Its messages have {} bytes at least.", least));
    }
    if (const std::uint64_t bytes = transport::traits(config.traffic.operation).bytes;
        bytes != 0 && size != bytes) {
      throw Error(Fault::usage,
                  fmt::format("`operation` {} of {} bytes",
                              transport::name(config.traffic.operation), size),
                  fmt::format("It acts on {} bytes: leave out `sizes`.", bytes));
    }
  }
  if (config.traffic.threads < config.placement.devices.size()) {
    throw Error(Fault::usage,
                fmt::format("`threads` {} for {} devices", config.traffic.threads,
                            config.placement.devices.size()),
                "Each device needs a thread at least.");
  }
}

std::string staged_at(std::string_view side) {
  return fmt::format(
      "The {}'s GPU memory is copied through the host's ('rdmabench reg' there says why).", side);
}

/// The fact for `gpudirect`: "yes", or a sentence that says why not.
std::string gpudirect(const Worker& worker, MemoryPath peer) {
  const memory::GpuMemory* const gpu = worker.gpu_memory();
  if (gpu != nullptr && gpu->staged()) return staged_at("client");
  if (peer == MemoryPath::staged) return staged_at("server");
  return gpu == nullptr && peer == MemoryPath::host
             ? "The messages of both sides lie in host memory."
             : "yes";
}

/// Throws Error(failed) that lists what is not met on any worker.
void check_requirements(Session& session, const std::vector<Requirement>& requirements,
                        MemoryPath peer) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < session.workers(); ++i) {
    transport::Description endpoint = session.worker(i).describe();
    endpoint.details.emplace_back("gpudirect", gpudirect(session.worker(i), peer));
    for (Unmet& one : unmet(requirements, endpoint)) {
      const bool said = std::find(reasons.begin(), reasons.end(), one.reason) != reasons.end();
      if (!said) reasons.push_back(std::move(one.reason));
    }
  }
  if (reasons.empty()) return;
  throw Error(Fault::failed,
              fmt::format("what `requirements` asks for is not met: {}", fmt::join(reasons, " ")),
              "Leave the condition out to measure all the same.");
}

/// The rails as back ends are to offer for them: a pattern branches by kPostLists itself.
std::vector<transport::EndpointRequest> offered(const SessionSpec& spec,
                                                std::vector<transport::EndpointRequest> rails) {
  if (spec.traffic.pattern.empty()) return rails;
  for (transport::EndpointRequest& rail : rails) rail = without_lists(std::move(rail));
  return rails;
}

}  // namespace

ClientPlan plan_client(const Config& config) {
  check_config(config);
  SessionSpec spec{
      .traffic = config.traffic,
      .endpoint = config.endpoint,
      .max_size = *std::max_element(config.sizes.begin(), config.sizes.end()),
      .peer_memory = peer_memory(config.placement),
      .paced = config.rate > 0 || config.bit_rate > 0,
      .timeout = std::chrono::duration_cast<std::chrono::milliseconds>(config.timeout)};
  spec.gpu = is_gpu(config.placement.memory) || is_gpu(spec.peer_memory);
  check(spec);
  ClientPlan plan{spec, rail_requests(spec, config.placement), config.backend, config.requirements};
  static_cast<void>(candidates(plan.backend, offered(spec, plan.rails).front()));
  return plan;
}

void check_memory(const std::string& memory) {
  const memory::Request request = memory::parse_request(memory);
  try {
    memory::check_available(request);
  } catch (const Error& error) {
    throw error.at(fmt::format("`memory` {}", memory));
  }
}

void check_this_side(const ClientPlan& plan) {
  check_memory(plan.rails.front().memory);
  const std::vector<transport::EndpointRequest> rails = offered(plan.spec, plan.rails);
  make_offers(candidates(plan.backend, rails.front()), rails);
}

ServerAnswer negotiate(Session& session, const ClientPlan& plan,
                       const memory::FailedRoutes& failed) {
  session.agree(plan.spec);
  std::vector<transport::EndpointRequest> rails = plan.rails;
  const std::vector<const Backend*> wanted =
      candidates(plan.backend, offered(plan.spec, rails).front());
  const auto own =
      std::make_shared<transport::SessionRequest>(transport::SessionRequest{failed, {}});
  for (transport::EndpointRequest& rail : rails) {
    rail.session = own;
    if (rail.local_ip.empty()) rail.local_ip = session.channel().local_ip();
    rail.peer_ip = session.channel().peer_ip();
  }
  const std::vector<std::vector<Offer>> ours = make_offers(wanted, offered(plan.spec, rails));
  session.send(SessionMessage::request, to_text(Request{plan.spec, ours}));
  const bool wakes = is_gpu(plan.spec.peer_memory);
  ServerAnswer answer =
      connect_client(session, wanted, rails, ours, plan.spec.traffic.threads, session.opener(),
                     session.timeout() + (wakes ? kDriverWake : std::chrono::seconds(0)));
  session.set_peer_write_order(answer.writes);
  check_requirements(session, plan.requirements, answer.memory);
  return answer;
}

}  // namespace rdmabench::inline v1::run
