#include "negotiate.h"

#include <fmt/format.h>

#include <algorithm>

#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/control/printable.h"
#include "rdmabench/report/environment.h"

namespace rdmabench::run {
namespace {

using control::MessageType;

constexpr std::uint32_t kStreamDepth = 128;  // perftest's default for bandwidth
constexpr std::uint32_t kLatencyDepth = 16;
constexpr std::uint32_t kStreamInterval =
    32;  // of signalled posts; a completion costs the loop and the device
constexpr std::uint32_t kLatencyInterval = 8;

/// The back ends that the configuration allows. loop reaches only this process, so 'auto' never
/// means it.
std::vector<const Backend*> candidates(const Config& config) {
  if (config.backend != "auto") return {&find_backend(config.backend)};
  std::vector<const Backend*> found;
  for (const Backend& backend : backends()) {
    // A provider is libfabric's word, and a GID index is a verbs one: naming it chooses the back
    // end.
    if (backend.name == "loop") continue;
    if (!config.provider.empty() && backend.name != "ofi") continue;
    if ((config.gid_index >= 0 || config.mtu > 0) && backend.name != "verbs") continue;
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
  transport::Choice choice;
};

/// The first back end by which both sides can reach each other.
Match choose(const std::vector<const Backend*>& backends, const transport::EndpointRequest& request,
             const std::vector<Offer>& ours, const std::vector<Offer>& theirs) {
  std::string excuses;
  for (const Backend* backend : backends) {
    const Offer& own = *find_offer(ours, backend->name);
    const Offer* const peer = find_offer(theirs, backend->name);
    std::string excuse;
    if (!own.error.empty()) {
      excuse = fmt::format("here: {}", own.error);
    } else if (peer == nullptr) {
      excuse = "the server has no such back end";
    } else if (!peer->error.empty()) {
      excuse = fmt::format("at the server: {}", control::printable(peer->error));
    } else {
      try {
        return {backend, backend->choose(request, own.text, peer->text)};
      } catch (const Error& error) {
        if (error.fault() == Fault::usage) throw;
        excuse = control::printable(error.what());  // it may quote the server's offer
      }
    }
    excuses += fmt::format("\n  {}: {}", backend->name, excuse);
  }
  throw Error(Fault::unavailable, "no back end reaches the server" + excuses);
}

}  // namespace

SessionSpec make_spec(const Config& config) {
  const bool stream = config.shape == workload::Shape::stream;
  if (config.sizes.empty()) throw Error(Fault::usage, "no message size", "Give --size 8, say.");
  for (const std::uint64_t size : config.sizes) {
    if (size == 0 || size > kMaxSize) {
      throw Error(Fault::usage, fmt::format("a message of {} bytes", size),
                  fmt::format("Sizes go from 1 to {}.", format_size(kMaxSize)));
    }
  }
  SessionSpec spec;
  spec.shape = config.shape;
  spec.operation = config.operation;
  spec.max_size = *std::max_element(config.sizes.begin(), config.sizes.end());
  spec.depth = config.depth != 0 ? config.depth : stream ? kStreamDepth : kLatencyDepth;
  if (spec.depth > kMaxDepth) {
    throw Error(Fault::usage, fmt::format("--depth {}", spec.depth),
                fmt::format("Depths go from 1 to {}.", kMaxDepth));
  }
  const std::uint32_t interval = stream ? kStreamInterval : kLatencyInterval;
  // By default at most half of the queue is unsignalled, so that there is room again before it is
  // full.
  spec.signal_every =
      config.signal_every != 0 ? config.signal_every : std::clamp(spec.depth / 2, 1U, interval);
  if (spec.signal_every > spec.depth) {
    throw Error(Fault::usage, fmt::format("--signal-every {}", spec.signal_every),
                fmt::format("It may be --depth ({}) at most, or the queue would fill up for good.",
                            spec.depth));
  }
  spec.inline_limit = config.inline_limit;
  spec.mtu = config.mtu;
  spec.validate = config.validate;
  spec.provider = config.provider;
  spec.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(config.timeout);
  if (spec.timeout < std::chrono::milliseconds(100) || spec.timeout > std::chrono::minutes(10)) {
    throw Error(Fault::usage, fmt::format("--timeout of {} ms", spec.timeout.count()),
                "It may be 100ms to 10m.");
  }
  return spec;
}

Agreement negotiate(Session& session, const Config& config) {
  const SessionSpec spec = make_spec(config);
  session.agree(spec);
  transport::EndpointRequest request = endpoint_request(spec, true);
  request.device = config.device;
  request.gid_index = config.gid_index;
  request.local_ip = session.channel().local_ip();
  request.peer_ip = session.channel().peer_ip();

  const std::vector<const Backend*> wanted = candidates(config);
  std::vector<Offer> ours;
  ours.reserve(wanted.size());
  for (const Backend* backend : wanted) ours.push_back(make_offer(*backend, request));
  session.send(MessageType::request, to_text(Request{spec, ours}));
  const std::vector<Offer> theirs = parse_offers(session.receive(MessageType::offer, "offer"));
  const Match match = choose(wanted, request, ours, theirs);
  session.send(MessageType::choice,
               to_text(Selection{std::string(match.backend->name), match.choice.server}));

  const Introduction server = parse_introduction(session.receive(MessageType::address, "address"));
  session.open(*match.backend, request, match.choice.client);
  session.send(MessageType::address, to_text(Introduction{session.link().address(), {}}));
  session.link().connect(server.address);
  session.receive(MessageType::ready, "readiness");
  return {.reason = match.choice.reason, .server_environment = server.environment};
}

}  // namespace rdmabench::run
