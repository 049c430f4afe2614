#include "rdmabench/run/server.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <system_error>

#include "gate.h"
#include "health/run_watch.h"
#include "memory/gpu_memory.h"
#include "rdmabench/base/affinity.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/log.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/report/conditions.h"
#include "run/pattern_table.h"
#include "run/session.h"
#include "verify.h"

namespace rdmabench::run {
namespace {

/// One session's part of the memory that all sessions together may register.
class MemoryShare {
 public:
  MemoryShare(std::atomic<std::uint64_t>& total, std::uint64_t bytes, std::uint64_t limit)
      : total_(total), bytes_(bytes) {
    // A request beyond the limit is never added: sums of such requests could wrap.
    if (bytes_ <= limit) {
      if (total_.fetch_add(bytes_) + bytes_ <= limit) return;
      total_ -= bytes_;
    }
    throw Error(
        Fault::failed,
        fmt::format("this session needs {} bytes, more than the server's limit of {} bytes leaves",
                    bytes, limit),
        "Lower `sizes` or `depth`, or try again when other clients are done.");
  }
  ~MemoryShare() { total_ -= bytes_; }
  MemoryShare(const MemoryShare&) = delete;
  MemoryShare& operator=(const MemoryShare&) = delete;

 private:
  std::atomic<std::uint64_t>& total_;
  std::uint64_t bytes_;
};

std::string describe(const SessionSpec& spec, const transport::Description& endpoint) {
  constexpr std::array<std::string_view, 4> kTests{"latency", "bandwidth",
                                                   "bidirectional bandwidth", "load"};
  return fmt::format("{} of {} over {} {}",
                     spec.pattern.empty() ? kTests[static_cast<std::size_t>(spec.shape)]
                                          : std::string_view(spec.pattern),
                     operation_text(spec.pattern, spec.operation), endpoint.backend,
                     endpoint.device);
}

/// What came of a client's epochs.
struct ServedEpochs {
  std::uint64_t messages = 0;
  std::string failed;  ///< why the verified transfer failed, which comes before anything is timed
};

/// What every attempt of a session uses.
struct Host {
  const ServerConfig& config;
  const control::Listener& listener;
  Gate& gate;
  std::atomic<std::uint64_t>& memory;
  std::optional<MemoryShare>& share;  ///< of this session: it outlives all workers
};

/// Waits until all clients of an incast can begin.
void wait_for_others(const Session& session, const Host& host) {
  const SessionSpec& spec = session.spec();
  if (spec.clients == 1) return;
  // A little less than the client waits, so that it receives the error.
  host.gate.pass(spec.clients, Deadline::after(spec.timeout * 9 / 10));
}

/// One epoch. Returns its messages.
std::uint64_t serve_epoch(Session& session, const EpochOrder& order, const Host& host) {
  session.stage(workload::Side::target, order);
  session.send(SessionMessage::ready);
  const EpochOutcome outcome = session.run({});
  if (session.spec().target_idle) session.receive(SessionMessage::result, "end of the operations");
  if (order.verify) wait_for_others(session, host);
  session.send(SessionMessage::result, to_text(outcome.target));
  return order.iterations * session.workers();
}

/// Serves epochs until the client says bye or gives up.
ServedEpochs serve_epochs(Session& session, health::RunWatch* watch, const Host& host) {
  ServedEpochs done;
  bool timed = !may_start_over(session.spec());
  for (;;) {
    if (host.listener.stopped()) throw Error(Fault::failed, "the server is shutting down");
    const control::Message message = session.receive("order of the client");
    if (message.type == SessionMessage::bye) {
      Farewell farewell;
      if (watch != nullptr) farewell.facts = health::to_facts(watch->end());
      session.send(SessionMessage::bye, to_text(farewell));
      return done;
    }
    if (message.type == SessionMessage::abort) {
      const std::string text =
          fmt::format("the client gave up: {}", control::printable(message.payload));
      if (timed) throw Error(Fault::failed, text);
      done.failed = text;
      return done;
    }
    if (message.type != SessionMessage::epoch) {
      throw Error(Fault::failed, fmt::format("the client sent '{}' instead of an epoch",
                                             name_of(message.type.as<SessionMessage>())));
    }
    const EpochOrder order = parse_epoch_order(message.payload, session.spec());
    timed = timed || !order.verify;
    try {
      done.messages += serve_epoch(session, order, host);
    } catch (const Error& error) {
      if (timed || !may_be_the_memory(session, error)) throw;
      done.failed = error.what();
      return done;
    }
  }
}

/// The client's next request after a verified transfer failed. Throws Error(failed) with `why`
/// where it sends none or was given kMostVerifications attempts.
Request ask_again(Session& session, const std::string& why, std::vector<memory::FailedWay>& failed,
                  int tried) {
  if (tried == kMostVerifications) throw Error(Fault::failed, why);
  try {
    if (tried % kTriesOfAWay == 0) add_failed(session, why, failed);
    session.start_over(why);
    return parse_request(session.receive(SessionMessage::request, "request"));
  } catch (const std::exception& error) {
    throw Error(Fault::failed, fmt::format("{}; and it did not start over: {}", why, error.what()));
  }
}

/// Where messages are staged in host memory: how long the copies take, which are not timed.
void add_staging_cost(Session& session, report::Facts& facts) {
  memory::GpuMemory* const gpu = session.worker().gpu_memory();
  if (gpu == nullptr || !gpu->staged()) return;
  const memory::CopyTimes times = gpu->measure_copies(session.spec().max_size);
  facts.push_back({"staging_copy_bytes", times.bytes});
  facts.push_back({"staging_to_device_ns", times.to_device_ns});
  facts.push_back({"staging_from_device_ns", times.from_device_ns});
}

void check_timeout(const Request& request, const ServerConfig& config) {
  if (request.spec.timeout <= config.max_timeout) return;
  throw Error(
      Fault::failed,
      fmt::format("a timeout of {} is longer than this server's limit of {}", request.spec.timeout,
                  std::chrono::duration_cast<std::chrono::seconds>(config.max_timeout)),
      "Lower `timeout`, or raise 'rdmabench serve --max-timeout'.");
}

/// The server's half of setting up a session.
void open_workers(Session& session, const Request& request,
                  const transport::EndpointRequest& wanted) {
  connect_server(session, wanted, request.rails, request.spec.workers, session.opener(), [&] {
    Introduction own{.addresses = {},
                     .environment = report::collect_environment(),
                     .memory = session.memory_path()};
    for (report::Fact& fact : session.memory_facts()) own.environment.push_back(std::move(fact));
    add_staging_cost(session, own.environment);
    return own;
  });
}

/// Opens the workers and serves epochs, until the client ends the session or starts over.
ServedEpochs serve_request(Session& session, const Request& request, const Host& host,
                           const std::vector<memory::FailedWay>& failed) {
  check_timeout(request, host.config);
  session.agree(request.spec);
  session.set_cpus(host.config.cpus);
  transport::EndpointRequest wanted = endpoint_request(request.spec, false);
  wanted.device = host.config.device;
  wanted.gid_index = host.config.gid_index;
  wanted.failed_ways = failed;
  wanted.local_ip = session.channel().local_ip();
  wanted.peer_ip = session.channel().peer_ip();
  host.share.reset();  // the workers that it was for are closed
  host.share.emplace(host.memory, memory_of(wanted) * request.spec.workers, host.config.max_memory);
  open_workers(session, request, wanted);
  std::optional<health::RunWatch> watch;
  if (request.spec.watch) {
    watch.emplace(session.devices());
    watch->begin();
  }
  if (!request.spec.gpu) wait_for_others(session, host);  // else with the transfer to be verified
  session.send(SessionMessage::ready);
  session.set_timeout(request.spec.timeout);
  return serve_epochs(session, watch ? &*watch : nullptr, host);
}

/// A whole session. Returns its line for the log.
std::string converse(Session& session, const Host& host) {
  Request request = parse_request(session.receive(SessionMessage::request, "request"));
  std::vector<memory::FailedWay> failed;
  for (int tried = 1;; ++tried) {
    const ServedEpochs done = serve_request(session, request, host, failed);
    if (done.failed.empty()) {
      return fmt::format("{}: {} messages", describe(request.spec, session.worker().describe()),
                         done.messages);
    }
    request = ask_again(session, done.failed, failed, tried);
  }
}

}  // namespace

struct Server::Client {
  explicit Client(control::Channel its_channel) : channel(std::move(its_channel)) {}

  control::Channel channel;
  std::thread thread;
  std::atomic<bool> done{false};
};

Server::Server(const ServerConfig& config, OnEvent on_event)
    : config_(config),
      on_event_(std::move(on_event)),
      listener_(config.address, config.port, config.authentication),
      gate_(std::make_unique<Gate>()) {}

Server::~Server() {
  stop();
  reap(true);
}

void Server::run() {
  constexpr auto kBetweenReaps = std::chrono::seconds(1);
  constexpr auto kBreather = std::chrono::milliseconds(100);
  while (!listener_.stopped()) {
    try {
      std::optional<control::Channel> channel = listener_.accept(Deadline::after(kBetweenReaps));
      reap(false);
      if (channel) admit(std::move(*channel));
    } catch (const std::exception& error) {
      event(error.what());  // no room for one more client: those we have go on
      std::this_thread::sleep_for(kBreather);
    }
  }
  reap(true);
}

void Server::admit(control::Channel channel) {
  if (clients_.size() >= config_.max_clients) {
    const std::string reason = fmt::format("this server is busy with {} clients", clients_.size());
    channel.abort(reason);
    event(fmt::format("{}: refused: {}", channel.peer(), reason));
    return;
  }
  auto client = std::make_unique<Client>(std::move(channel));
  try {
    client->thread = std::thread([this, slot = client.get()] {
      serve(std::move(slot->channel));
      slot->done = true;
    });
  } catch (const std::system_error& error) {
    const std::string reason =
        fmt::format("this server has no thread for one more client: {}", error.code().message());
    client->channel.abort(reason);
    event(fmt::format("{}: refused: {}", client->channel.peer(), reason));
    return;
  }
  clients_.push_back(std::move(client));
}

void Server::serve(control::Channel channel) {
  const std::string peer = channel.peer();
  std::string line;
  {
    std::optional<MemoryShare> share;  // before the session, whose workers it is for
    Session session(std::move(channel), config_.timeout);
    log_line([&] { return fmt::format("session begun: {}", peer); });
    try {
      if (!config_.cpus.empty()) pin_this_thread(config_.cpus.front());
      line = converse(session, {config_, listener_, *gate_, memory_, share});
    } catch (const std::exception& error) {
      line = control::printable(error.what());  // it may quote what the client sent
      session.channel().abort(line);
      ++failed_;
    }
  }
  log_line([&] { return fmt::format("session ended: {}: {}", peer, line); });
  event(fmt::format("{}: {}", peer, line));
  if (++served_ == config_.sessions) stop();
}

void Server::reap(bool all) {
  for (auto client = clients_.begin(); client != clients_.end();) {
    if (!all && !(*client)->done) {
      ++client;
      continue;
    }
    (*client)->thread.join();
    client = clients_.erase(client);
  }
}

void Server::event(const std::string& line) {
  const std::lock_guard lock(event_mutex_);
  if (on_event_) on_event_(line);
}

}  // namespace rdmabench::run
