// The server of a run: serves clients, which choose every parameter.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"

namespace rdmabench::run {

struct ServerConfig {
  std::string address{};           ///< to listen on; "" = every address of this machine
  std::uint16_t port = 18515;      ///< 0 = a free one
  std::uint32_t max_clients = 64;  ///< at once; further clients are refused
  std::uint64_t sessions = 0;      ///< stop after so many; 0 = when told to
  std::string device{};            ///< to use, as EndpointRequest::device; "" = to match the client
  std::int32_t gid_index = -1;     ///< RoCE, of this side; -1 = choose
  std::uint64_t max_memory = std::uint64_t{4}
                             << 30;          ///< bytes that all sessions may register at once
  control::Authentication authentication{};  ///< who is served
  /// For each step of a client's set-up.
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);
  /// The threads of a session with several workers run on these in turn; none = anywhere.
  std::vector<int> cpus{};
  /// The longest timeout that a client may ask for: a dead client keeps its place that long.
  std::chrono::nanoseconds max_timeout = std::chrono::minutes(1);
};

/// One line about a client, for a log: "10.0.0.1:4242: latency of write over verbs: done".
/// Called from the threads of the server, one at a time.
using OnEvent = std::function<void(const std::string& line)>;

class Gate;

/// Serves clients, each in its own thread, until stop(). Whatever a client does or sends ends only
/// that client's session. Its endpoint and memory are freed before its line is reported.
class Server {
 public:
  /// Throws Error when the port cannot be had.
  Server(const ServerConfig& config, OnEvent on_event);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const { return listener_.port(); }

  /// Returns after stop(), when every session has ended.
  void run();

  /// Sessions that ended with an error.
  std::uint64_t failed_sessions() const noexcept { return failed_; }

  /// From any thread, or a signal handler.
  void stop() noexcept { listener_.stop(); }

 private:
  struct Client;

  void admit(control::Channel channel);
  void serve(control::Channel channel);
  void reap(bool all);
  void event(const std::string& line);

  ServerConfig config_;
  OnEvent on_event_;
  control::Listener listener_;
  std::unique_ptr<Gate> gate_;
  std::list<std::unique_ptr<Client>> clients_;
  std::atomic<std::uint64_t> memory_{0};
  std::atomic<std::uint64_t> served_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::mutex event_mutex_;
};

/// A server that runs in a thread of its own for as long as this object lives.
class ServerThread {
 public:
  /// Throws Error as Server's constructor does.
  explicit ServerThread(const ServerConfig& config, OnEvent on_event = nullptr)
      : server_(config, std::move(on_event)), thread_([this] { server_.run(); }) {}
  ~ServerThread() {
    server_.stop();
    thread_.join();
  }
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

  std::uint16_t port() const { return server_.port(); }

 private:
  Server server_;
  std::thread thread_;
};

}  // namespace rdmabench::run
