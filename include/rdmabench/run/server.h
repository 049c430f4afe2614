// The server of a run: serves clients, which choose every parameter.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::inline v1::run {

/// A limit "of an address" is of all clients that connect from it; those from this machine count as
/// one address, whichever they take.
struct ServerConfig {
  std::string address{};                   ///< to listen on; "" = every address of this machine
  std::uint16_t port = 18515;              ///< 0 = a free one
  std::uint32_t max_clients = 256;         ///< at once; further clients are refused
  std::uint32_t max_address_clients = 64;  ///< of an address
  std::string backend = "auto";  ///< the only one that it serves; "auto" = each of this program
  std::uint64_t sessions = 0;    ///< stop after so many that began to measure; 0 = when told to
  std::string device{};          ///< to use, as EndpointRequest::device; "" = to match the client
  std::int32_t gid_index = -1;   ///< RoCE, of this side; -1 = choose
  /// Bytes that all sessions may use at once: buffers, queues and what providers allocate for them.
  std::uint64_t max_memory = std::uint64_t{8} << 30;
  std::uint64_t max_address_memory = std::uint64_t{4} << 30;  ///< of an address
  control::Authentication authentication{};                   ///< who is served
  std::uint32_t max_threads = 1024;                           ///< of all sessions at once
  std::uint32_t max_address_threads = 256;                    ///< of an address
  /// For each step of a client's set-up.
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);
  /// The threads of a session with several workers run on these in turn; none = anywhere.
  std::vector<int> cpus{};
  /// The longest timeout that a client may ask for: a dead client keeps its place that long.
  std::chrono::nanoseconds max_timeout = std::chrono::minutes(1);
  /// Limit of (time waiting for the client) - (time measuring) of a session. Waits shorter than a
  /// second do not count. Within an epoch, a time without a completion of a quarter of the client's
  /// timeout or more counts as waiting.
  std::chrono::nanoseconds max_idle = std::chrono::minutes(2);
  std::chrono::nanoseconds max_session = std::chrono::hours(24);  ///< the longest one
  /// Where a session may send to besides the address that its client connected from: networks
  /// ("10.0.0.0/8"), prefixes of GIDs ("fe80::/64"), LIDs ("lid:1-100").
  std::vector<std::string> allow{};
  /// libfabric's providers that endanger a server: "shm", "sm2", "udp", and "tcp" or "net" for
  /// those over ofi_rxm; those whose peers' addresses cannot be judged, which a client on this
  /// machine may use; and "ucx", the back end and libfabric's provider. "any" is all of them.
  std::vector<std::string> allow_providers{};
  /// The command whose options raise these limits ("rdmabench serve"), for what a client is told
  /// that is refused; "" = there are no such options.
  std::string command{};
};

/// What became of a client.
struct SessionEvent {
  enum class Kind : std::uint8_t {
    completed,  ///< it has said goodbye
    failed,     ///< its session ended with `failure`
    refused,    ///< there was no room for it: `failure`
    dropped,    ///< so many of the last two were not told, as there were too many
  };
  Kind kind = Kind::completed;
  std::string peer{};  ///< "10.0.0.1:4242"; "" where no connection came of it
  std::string text{};  ///< for people: "latency of write over verbs mlx5_0:1: 9000 messages"
  Failure failure{};   ///< failed, refused
  std::uint64_t messages = 0;  ///< completed: of the client's epochs
  std::uint64_t dropped = 0;
};

/// The event as one line of a log: "10.0.0.1:4242: latency of write over verbs mlx5_0:1: 9000
/// messages".
std::string line_of(const SessionEvent& event);

/// Called from the threads of the server, one at a time. When it throws, it is not called again,
/// the server ends as after stop(), and run() throws the exception; a ServerThread keeps it.
using OnEvent = std::function<void(const SessionEvent& event)>;

/// Serves clients, each in its own thread, until stop(). Whatever a client does or sends ends only
/// that client's session. Its endpoint and memory are freed before its event is reported. Events
/// of clients that were refused or failed are limited to some a second; the next one comes after
/// one that says how many were dropped.
class Server {
 public:
  /// Throws Error when the port cannot be had, Error(usage) for an invalid network, for a back end
  /// that find_backend() does not find and for an RLIMIT_NOFILE of 64 or less. The first Server of
  /// a process that serves ofi begins libfabric, where it is here, and sets FI_OFI_RXM_MSG_RX_SIZE
  /// meanwhile unless it is set: make it before other threads read the environment (setenv(3)).
  Server(const ServerConfig& config, OnEvent on_event);
  ~Server();
  Server& operator=(Server&&) = delete;

  std::uint16_t port() const;

  /// Returns after stop(), when every session has ended. They are told why, and end within a
  /// second unless a library's call does not return. The port is closed first: no client waits for
  /// a server that is gone.
  void run();

  /// Sessions that began to measure and ended with an error.
  std::uint64_t failed_sessions() const noexcept;

  /// From any thread, or a signal handler.
  void stop() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A server that runs in a thread of its own for as long as this object lives.
class ServerThread {
 public:
  /// Throws Error as Server's constructor does.
  explicit ServerThread(const ServerConfig& config, OnEvent on_event = nullptr)
      : server_(config, std::move(on_event)), thread_([this] { run(); }) {}
  ~ServerThread() {
    server_.stop();
    thread_.join();
  }
  ServerThread& operator=(ServerThread&&) = delete;

  std::uint16_t port() const { return server_.port(); }

  /// False once it serves nobody any more: it has served ServerConfig::sessions, or error() says
  /// why. From any thread.
  bool running() const noexcept { return running_; }

  /// What ended it, an exception of on_event; null while it runs and where it ended as it was told
  /// to. From any thread.
  std::exception_ptr error() const noexcept { return running_ ? nullptr : error_; }

  /// As Server::failed_sessions().
  std::uint64_t failed_sessions() const noexcept { return server_.failed_sessions(); }

 private:
  void run() noexcept {
    try {
      server_.run();
    } catch (...) {
      error_ = std::current_exception();
    }
    running_ = false;
  }

  Server server_;
  std::exception_ptr error_;  ///< written before `running_` is false
  std::atomic<bool> running_{true};
  std::thread thread_;
};

}  // namespace rdmabench::inline v1::run
