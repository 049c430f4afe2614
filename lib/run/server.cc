#include "rdmabench/run/server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <limits>
#include <list>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <stop_token>
#include <string_view>
#include <system_error>

#include "base/allowed_peers.h"
#include "control/frame.h"
#include "rdmabench/base/affinity.h"
#include "rdmabench/base/log.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/run/backends.h"
#include "run/budget.h"
#include "run/fair_semaphore.h"
#include "run/incast_barrier.h"
#include "run/processors.h"
#include "run/serving.h"

namespace rdmabench::inline v1::run {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kShuttingDown = "the server is shutting down";

/// File descriptors for the clients: the process has some of its own, and connections that have not
/// proved who they are have a share. Throws Error(usage) where that leaves none.
std::uint64_t descriptors() {
  const std::uint64_t kept = 64 + control::Listener::max_pending();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  if (limit.rlim_cur <= kept) {
    throw Error(Fault::usage,
                fmt::format("a limit of {} open files leaves none for a client", limit.rlim_cur),
                "Raise it to 1024: ulimit -n 1024.");
  }
  return limit.rlim_cur - kept;
}

/// What the threads of sessions may run on.
std::size_t processors_of(const ServerConfig& config) {
  return config.cpus.empty() ? processors().size()
                             : std::set<int>(config.cpus.begin(), config.cpus.end()).size();
}

/// Twice as many sessions as there are processors open at once: one may wait for its memory.
std::size_t turns_of_all() {
  return std::size_t{2} * std::max(1U, std::thread::hardware_concurrency());
}

Usage most_of_all(const ServerConfig& config) {
  return {config.max_clients, config.max_threads, config.max_memory, descriptors()};
}

/// Whether one address has to leave something to others.
bool is_shared(const ServerConfig& config) {
  return config.max_address_clients < config.max_clients;
}

std::size_t turns_of_address(const ServerConfig& config) {
  return is_shared(config) ? turns_of_all() * 3 / 4 : turns_of_all();
}

/// One address leaves a quarter of the descriptors to others.
Usage most_of_address(const ServerConfig& config) {
  return {std::min(config.max_clients, config.max_address_clients),
          std::min(config.max_threads, config.max_address_threads),
          std::min(config.max_memory, config.max_address_memory),
          is_shared(config) ? descriptors() / 4 * 3 : descriptors()};
}

using EventKind = SessionEvent::Kind;

}  // namespace

/// How many lines of a kind are told: a burst of kBurst, and then kEachSecond. Thread rule: one
/// thread at a time.
class LineLimit {
 public:
  static constexpr double kBurst = 32;
  static constexpr double kEachSecond = 8;

  /// Nothing where the line is to be dropped, else how many were since the last one that was not.
  std::optional<std::uint64_t> pass(Clock::time_point now) {
    left_ =
        std::min(kBurst, left_ + kEachSecond * std::chrono::duration<double>(now - last_).count());
    last_ = now;
    if (left_ < 1) {
      ++dropped_;
      return std::nullopt;
    }
    left_ -= 1;
    return take_dropped();
  }

  std::uint64_t take_dropped() { return std::exchange(dropped_, 0); }

 private:
  double left_ = kBurst;
  Clock::time_point last_ = Clock::now();
  std::uint64_t dropped_ = 0;
};

struct Server::Impl {
  /// One session and its thread.
  struct Client {
    Client(control::Channel its_channel, std::string its_name, Budget::Share its_place)
        : channel(std::move(its_channel)),
          socket(channel.handle()),
          name(std::move(its_name)),
          place(std::move(its_place)) {}

    /// Ends the session, which tells its client why.
    void end(std::string_view reason) {
      if (stop.stop_requested()) return;
      why = reason;
      stop.request_stop();
    }

    /// Ends what the session still waits for on its channel, be it to say why.
    void cut() {
      const std::lock_guard lock(mutex);
      if (socket >= 0) ::shutdown(socket, SHUT_RDWR);
    }

    void forget_socket() {
      const std::lock_guard lock(mutex);
      socket = -1;
    }

    control::Channel channel;
    std::mutex mutex;
    int socket;  ///< the channel's; -1 once it may be closed
    std::string name;
    Budget::Share place;
    std::string_view why;  ///< written before `stop` is requested
    std::stop_source stop;
    Clock::time_point begun = Clock::now();
    std::thread thread;
    bool done = false;  ///< of the server's mutex
  };

  Impl(ServerConfig its_config, OnEvent its_on_event)
      : config(std::move(its_config)),
        allowed(parse_allowed(config.allow, config.allow_providers)),
        on_event(std::move(its_on_event)),
        listener(config.address, config.port, config.authentication),
        too_long(fmt::format("the session has lasted as long as this server allows. Measure for a "
                             "shorter time{}.",
                             or_raise(config.command, "--max-session"))),
        turns(turns_of_all(), turns_of_address(config), config.command),
        budget(most_of_all(config), most_of_address(config), config.command),
        processors(processors_of(config)) {
    listener.on_refused([this](const control::RefusedPeer& refused) {
      const bool one = refused.count == 1;
      tell({.kind = EventKind::refused,
            .peer = one ? refused.peer : refused.ip,
            .text =
                one ? refused.why : fmt::format("{} more clients: {}", refused.count, refused.why),
            .failure = {.fault = Fault::failed, .peer = refused.peer}});
    });
  }

  void run();
  void admit(control::Channel channel);
  void serve(Client& client) noexcept;
  void serve_session(Client& client);
  void reap(bool all);
  void end_all();
  void end_long_sessions();
  void tell(const SessionEvent& event) noexcept;
  void tell_of(const std::exception& error) noexcept;
  void say(const SessionEvent& event) noexcept;
  void tell_dropped();

  ServerConfig config;
  AllowedNetworks allowed;
  OnEvent on_event;
  control::Listener listener;
  std::string too_long;  ///< what the client of a session is told that has lasted so
  IncastBarrier incast;
  FairSemaphore turns;
  Budget budget;
  Processors processors;
  std::list<Client> clients;
  std::mutex mutex;
  std::condition_variable ended;  ///< a session is done
  std::atomic<std::uint64_t> served{0};
  std::atomic<std::uint64_t> failed{0};
  std::mutex event_mutex;
  std::array<LineLimit, 3> limits;  ///< of each about
  std::exception_ptr thrown;        ///< by on_event
};

Server::Server(const ServerConfig& config, OnEvent on_event) {
  if (config.backend != "auto") find_backend(config.backend);
  for (const Backend& backend : backends()) {
    if (backend.begin != nullptr && serves(config.backend, backend)) backend.begin();
  }
  impl_ = std::make_unique<Impl>(config, std::move(on_event));  // which listens
}

Server::~Server() {
  stop();
  impl_->end_all();
}

std::uint16_t Server::port() const {
  return impl_->listener.port();
}

void Server::run() {
  impl_->run();
}

std::string line_of(const SessionEvent& event) {
  switch (event.kind) {
    case EventKind::dropped:
      return fmt::format("{} lines about clients that failed or were refused were dropped",
                         event.dropped);
    case EventKind::refused:
      if (event.peer.empty()) break;
      return fmt::format("{}: refused: {}", event.peer, event.text);
    default:
      return fmt::format("{}: {}", event.peer, event.text);
  }
  return event.text;
}

std::uint64_t Server::failed_sessions() const noexcept {
  return impl_->failed;
}

void Server::stop() noexcept {
  impl_->listener.stop();
}

void Server::Impl::run() {
  constexpr auto kBetweenReaps = std::chrono::seconds(1);
  constexpr auto kBreather = std::chrono::milliseconds(100);
  while (!listener.stopped()) {
    try {
      std::optional<control::Channel> channel = listener.accept(Deadline::after(kBetweenReaps));
      reap(false);
      end_long_sessions();
      if (channel) admit(std::move(*channel));
    } catch (const std::exception& error) {
      tell_of(error);  // no room for one more client: those we have go on
      std::this_thread::sleep_for(kBreather);
    }
  }
  listener.close();
  end_all();
  tell_dropped();
  if (thrown) std::rethrow_exception(thrown);
}

/// What it throws closes the connection.
void Server::Impl::admit(control::Channel channel) {
  const std::string name = host_of(channel.peer_ip());
  Client& client = clients.emplace_back(std::move(channel), name, Budget::Share());
  try {
    SessionEvent refusal{.kind = EventKind::refused, .peer = client.channel.peer()};
    try {
      // It may begin a message of the largest size at any time, and never end it; and offer much.
      client.place =
          budget.take(name, {.sessions = 1, .memory = kMemoryOfMessages, .descriptors = 1});
      client.thread = std::thread([this, &client] { serve(client); });
      return;
    } catch (const std::system_error& error) {
      refusal.text =
          fmt::format("this server has no thread for one more client: {}", error.code().message());
      refusal.failure = {.code = error.code().value(), .call = "pthread_create"};
    } catch (const std::exception& error) {
      refusal.text = error.what();
      refusal.failure = failure_of(error);
    }
    client.channel.abort(refusal.text);
    tell(refusal);
  } catch (...) {  // no memory to say it
    clients.pop_back();
    throw;
  }
  clients.pop_back();
}

void Server::Impl::serve(Client& client) noexcept {
  try {
    serve_session(client);
  } catch (...) {
    client.cut();  // no memory for its session or its line, say: the others go on
  }
  client.forget_socket();
  client.place.reset();
  const std::lock_guard lock(mutex);
  client.done = true;
  ended.notify_all();
}

void Server::Impl::serve_session(Client& client) {
  const std::string peer = client.channel.peer();
  SessionEvent event;
  bool begun = false;
  {
    std::vector<Budget::Share> shares;  // before the session, whose workers they are for
    Session session(std::move(client.channel), config.timeout);
    session.set_stop(client.stop.get_token());
    log_line([&] { return fmt::format("session begun: {}", peer); });
    try {
      if (!config.cpus.empty()) pin_this_thread(config.cpus.front());
      event = run_server_session(session, {config, allowed, incast, turns, budget, processors,
                                           client.name, shares, begun});
    } catch (const std::exception& error) {
      event = {.kind = EventKind::failed, .failure = failure_of(error)};
      const auto* const gave_up = dynamic_cast<const control::GaveUp*>(&error);
      event.text = client.stop.stop_requested() ? std::string(client.why)
                   : gave_up != nullptr ? fmt::format("the client gave up: {}", gave_up->reason())
                                        : ascii_only(error.what());  // it may quote
      session.give_up(error, event.text);
      if (begun) ++failed;
    }
    event.peer = peer;
    client.forget_socket();
  }
  client.place.reset();
  log_line([&] { return fmt::format("session ended: {}", line_of(event)); });
  tell(event);
  if (begun && ++served == config.sessions) listener.stop();
}

void Server::Impl::reap(bool all) {
  std::unique_lock lock(mutex);
  for (auto client = clients.begin(); client != clients.end();) {
    if (!all && !client->done) {
      ++client;
      continue;
    }
    lock.unlock();
    if (client->thread.joinable()) client->thread.join();
    client = clients.erase(client);
    lock.lock();
  }
}

void Server::Impl::end_all() {
  constexpr auto kGrace = std::chrono::milliseconds(500);
  for (Client& client : clients) client.end(kShuttingDown);
  {
    std::unique_lock lock(mutex);
    ended.wait_for(lock, kGrace, [this] {
      return std::all_of(clients.begin(), clients.end(),
                         [](const Client& client) { return client.done; });
    });
  }
  for (Client& client : clients) client.cut();
  reap(true);
}

void Server::Impl::end_long_sessions() {
  const Clock::time_point now = Clock::now();
  for (Client& client : clients) {
    if (now - client.begun > config.max_session) client.end(too_long);
  }
}

/// For lack of memory an event may be lost, and no more.
void Server::Impl::tell(const SessionEvent& event) noexcept {
  const std::lock_guard lock(event_mutex);
  if (event.kind != EventKind::completed) {
    const auto dropped = limits[static_cast<std::size_t>(event.kind)].pass(Clock::now());
    if (!dropped) return;
    if (*dropped > 0) say({.kind = EventKind::dropped, .dropped = *dropped});
  }
  say(event);
}

void Server::Impl::tell_of(const std::exception& error) noexcept try {
  tell({.kind = EventKind::refused, .text = error.what(), .failure = failure_of(error)});
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the event is lost
}

void Server::Impl::say(const SessionEvent& event) noexcept {
  if (!on_event || thrown) return;
  try {
    on_event(event);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the line is lost
  } catch (...) {
    thrown = std::current_exception();
    listener.stop();
  }
}

void Server::Impl::tell_dropped() {
  const std::lock_guard lock(event_mutex);
  std::uint64_t dropped = 0;
  for (LineLimit& limit : limits) dropped += limit.take_dropped();
  if (dropped > 0) say({.kind = EventKind::dropped, .dropped = dropped});
}

}  // namespace rdmabench::inline v1::run
