#include "negotiate.h"

#include <fmt/format.h>

#include <algorithm>

#include "combination.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/control/printable.h"
#include "rdmabench/report/fact.h"

namespace rdmabench::run {
namespace {

using control::MessageType;

constexpr std::uint32_t kStreamDepth = 128;  // perftest's default for bandwidth
constexpr std::uint32_t kLatencyDepth = 16;
constexpr std::uint32_t kStreamInterval =
    32;  // of signalled posts; a completion costs the loop and the device
constexpr std::uint32_t kLatencyInterval = 8;

/// Words of verbs alone: naming one chooses the back end.
bool names_verbs(const Config& config) {
  using transport::Service;
  const bool service = config.service != Service::automatic && config.service != Service::rdm &&
                       config.service != Service::msg;
  return service || config.gid_index >= 0 || config.mtu > 0 || config.connection_manager ||
         config.shared_receives || config.path != transport::PathOptions{};
}

bool names_libfabric(const Config& config) {
  return !config.provider.empty() || !config.fabric.empty() || !config.source_ip.empty() ||
         config.delivery || config.shared_memory || config.service == transport::Service::rdm ||
         config.service == transport::Service::msg;
}

/// The back ends that the configuration allows. loop reaches only this process, so 'auto' never
/// means it.
std::vector<const Backend*> candidates(const Config& config) {
  if (config.backend != "auto") return {&find_backend(config.backend)};
  std::vector<const Backend*> found;
  for (const Backend& backend : backends()) {
    if (backend.name == "loop") continue;
    if (names_verbs(config) && backend.name != "verbs") continue;
    if (names_libfabric(config) && backend.name != "ofi") continue;
    found.push_back(&backend);
  }
  return found;
}

const Offer* find_offer(const std::vector<Offer>& offers, std::string_view backend) {
  const auto found = std::find_if(offers.begin(), offers.end(),
                                  [&](const Offer& offer) { return offer.backend == backend; });
  return found == offers.end() ? nullptr : &*found;
}

struct Match {
  const Backend* backend = nullptr;
  std::vector<transport::Choice> choices;  ///< of each rail
};

/// What stands between the two sides' offers of one back end, or nothing; throws Error(usage).
std::string excuse(const Offer& own, const Offer* peer) {
  if (!own.error.empty()) return fmt::format("here: {}", own.error);
  if (peer == nullptr) return "the server has no such back end";
  if (!peer->error.empty()) {
    return fmt::format("at the server: {}", control::printable(peer->error));
  }
  return "";
}

/// The first back end by which both sides can reach each other on every rail.
Match choose(const std::vector<const Backend*>& backends,
             const std::vector<transport::EndpointRequest>& rails,
             const std::vector<std::vector<Offer>>& ours, const std::vector<Offer>& theirs) {
  std::string excuses;
  for (const Backend* backend : backends) {
    Match match{backend, {}};
    std::string why;
    for (std::size_t rail = 0; rail < rails.size() && why.empty(); ++rail) {
      const Offer& own = *find_offer(ours[rail], backend->name);
      const Offer* const peer = find_offer(theirs, backend->name);
      why = excuse(own, peer);
      if (!why.empty()) break;
      try {
        match.choices.push_back(backend->choose(rails[rail], own.text, peer->text));
      } catch (const Error& error) {
        if (error.fault() == Fault::usage) throw;
        why = control::printable(error.what());  // it may quote the server's offer
      }
    }
    if (why.empty()) return match;
    excuses += fmt::format("\n  {}: {}", backend->name, why);
  }
  throw Error(Fault::unavailable, "no back end reaches the server" + excuses);
}

/// The endpoint that each device of the client is to carry; one where none was named.
std::vector<transport::EndpointRequest> rail_requests(const SessionSpec& spec, const Config& config,
                                                      const std::string& local_ip,
                                                      const std::string& peer_ip) {
  transport::EndpointRequest request = endpoint_request(spec, true);
  request.gid_index = config.gid_index;
  request.memory = config.memory;
  request.numa = config.numa;
  request.fabric = config.fabric;
  request.local_ip = config.source_ip.empty() ? local_ip : config.source_ip;
  request.peer_ip = peer_ip;
  std::vector<transport::EndpointRequest> rails(std::max<std::size_t>(config.devices.size(), 1),
                                                request);
  for (std::size_t i = 0; i < config.devices.size(); ++i) rails[i].device = config.devices[i];
  return rails;
}

/// The offers of this side for each rail. Throws Error(unavailable) for a rail without any: then no
/// peer need be asked.
std::vector<std::vector<Offer>> make_offers(const std::vector<const Backend*>& backends,
                                            const std::vector<transport::EndpointRequest>& rails) {
  std::vector<std::vector<Offer>> ours;
  for (const transport::EndpointRequest& rail : rails) {
    std::vector<Offer>& offers = ours.emplace_back();
    std::string excuses;
    bool found = false;
    for (const Backend* backend : backends) {
      const Offer& offer = offers.emplace_back(make_offer(*backend, rail));
      found = found || offer.error.empty();
      excuses += fmt::format("\n  {}: {}", backend->name, offer.error);
    }
    if (!found) throw Error(Fault::unavailable, "nothing here fits" + excuses);
  }
  return ours;
}

bool is_gpu(std::string_view memory) {
  return memory::parse_request(memory).kind == memory::Kind::cuda;
}

/// The server's, which follows in kind: a user who names a GPU measures from GPU to GPU.
std::string peer_memory(const Config& config) {
  if (!config.peer_memory.empty()) return config.peer_memory;
  const memory::Request own = memory::parse_request(config.memory);
  switch (own.kind) {
    case memory::Kind::huge:
      return "huge";
    case memory::Kind::cuda:
      return own.vmm ? "cuda:auto,vmm" : "cuda:auto";
    default:
      return "host";
  }
}

/// Bounds that the spec alone cannot tell.
void check_config(const Config& config) {
  if (!config.counts.empty() && config.counts.size() != config.sizes.size()) {
    throw Error(Fault::usage, fmt::format("{} counts of messages for {} sizes",
                                          config.counts.size(), config.sizes.size()));
  }
  if (config.sizes.empty()) throw Error(Fault::usage, "no message size", "Give --size 8, say.");
  for (const std::uint64_t size : config.sizes) {
    if (size == 0 || size > kMaxSize) {
      throw Error(Fault::usage, fmt::format("a message of {} bytes", size),
                  fmt::format("Sizes go from 1 to {}.", format_size(kMaxSize)));
    }
    if (transport::is_atomic(config.operation) && size != transport::kAtomicBytes) {
      throw Error(Fault::usage,
                  fmt::format("--op {} of {} bytes", transport::name(config.operation), size),
                  "Atomics act on 8 bytes: leave out --size.");
    }
  }
  if (config.depth > kMaxDepth) {
    throw Error(Fault::usage, fmt::format("--depth {}", config.depth),
                fmt::format("Depths go from 1 to {}.", kMaxDepth));
  }
  if (config.queue_pairs == 0 || config.queue_pairs > kMaxQueuePairs) {
    throw Error(Fault::usage, fmt::format("--qps {}", config.queue_pairs),
                fmt::format("Queue pairs go from 1 to {}.", kMaxQueuePairs));
  }
  if (config.workers == 0 || config.workers > kMaxWorkers) {
    throw Error(Fault::usage, fmt::format("--threads {}", config.workers),
                fmt::format("Threads go from 1 to {}.", kMaxWorkers));
  }
  if (config.clients == 0 || config.clients > kMaxClients) {
    throw Error(Fault::usage, fmt::format("--clients {}", config.clients),
                fmt::format("An incast has 1 to {} clients.", kMaxClients));
  }
  if (config.workers < config.devices.size()) {
    throw Error(Fault::usage,
                fmt::format("--threads {} for {} devices", config.workers, config.devices.size()),
                "Each device needs a thread at least.");
  }
  if (config.timeout < std::chrono::milliseconds(100) ||
      config.timeout > std::chrono::minutes(10)) {
    throw Error(Fault::usage,
                fmt::format("--timeout of {} ms", config.timeout / std::chrono::milliseconds(1)),
                "It may be 100ms to 10m.");
  }
}

/// Throws Error(failed) that lists what is not met on any worker.
void check_requirements(Session& session, const Config& config) {
  std::string reasons;
  for (std::size_t i = 0; i < session.workers(); ++i) {
    for (const Unmet& one : unmet(config.requirements, session.worker(i).describe())) {
      reasons += fmt::format("{}{}", reasons.empty() ? "" : " ", one.reason);
    }
  }
  if (reasons.empty()) return;
  throw Error(Fault::failed, fmt::format("--require is not met: {}", reasons),
              "Leave the condition out to measure all the same.");
}

}  // namespace

SessionSpec make_spec(const Config& config) {
  check_config(config);
  const bool latency = config.shape == workload::Shape::latency;
  SessionSpec spec(config);
  spec.shape = config.shape;
  spec.operation = config.operation;
  spec.max_size = *std::max_element(config.sizes.begin(), config.sizes.end());
  spec.depth = config.depth != 0 ? config.depth : latency ? kLatencyDepth : kStreamDepth;
  spec.depth = std::max(spec.depth, config.depth != 0 ? 1U : spec.post_list);
  const std::uint32_t interval = latency ? kLatencyInterval : kStreamInterval;
  // By default at most half of the queue is unsignalled, so that there is room again before it is
  // full.
  spec.signal_every =
      config.signal_every != 0 ? config.signal_every : std::clamp(spec.depth / 2, 1U, interval);
  spec.paced = config.rate > 0 || config.bit_rate > 0;
  spec.peer_memory = peer_memory(config);
  spec.gpu = is_gpu(config.memory) || is_gpu(spec.peer_memory);
  spec.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(config.timeout);
  check(spec);
  return spec;
}

void check_this_side(const Config& config) {
  const SessionSpec spec = make_spec(config);
  memory::check_here(memory::parse_request(config.memory));
  make_offers(candidates(config), rail_requests(spec, config, "", ""));
}

Agreement negotiate(Session& session, const Config& config,
                    const std::vector<memory::FailedWay>& failed) {
  session.agree(make_spec(config));
  std::vector<transport::EndpointRequest> rails = rail_requests(
      session.spec(), config, session.channel().local_ip(), session.channel().peer_ip());
  for (transport::EndpointRequest& rail : rails) rail.failed_ways = failed;
  const std::vector<const Backend*> wanted = candidates(config);
  const std::vector<std::vector<Offer>> ours = make_offers(wanted, rails);
  session.send(MessageType::request, to_text(Request{session.spec(), ours}));
  const std::vector<Offer> theirs = parse_offers(session.receive(MessageType::offer, "offer"));
  const Match match = choose(wanted, rails, ours, theirs);
  Selection selection{std::string(match.backend->name), {}};
  for (const transport::Choice& choice : match.choices) selection.choices.push_back(choice.server);
  session.send(MessageType::choice, to_text(selection));

  const Introduction server = parse_introduction(session.receive(MessageType::address, "address"));
  for (std::size_t i = 0; i < session.spec().workers; ++i) {
    const std::size_t rail = i % rails.size();
    session.open(*match.backend, rails[rail], match.choices[rail].client);
  }
  session.send(MessageType::address, to_text(Introduction{session.addresses(), {}}));
  session.connect(server.addresses);
  session.receive(MessageType::ready, "readiness");
  check_requirements(session, config);
  return {.reason = match.choices[0].reason, .server_environment = server.environment};
}

}  // namespace rdmabench::run
