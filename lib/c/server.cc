#include "rdmabench/run/server.h"

#include <limits>

#include "c/guard.h"
#include "rdmabench.h"
#include "rdmabench/run/config.h"
#include "run/user_options.h"

namespace rdmabench::c {
namespace {

run::ServerConfig server_config(std::string_view text) {
  constexpr double kShortest = 0.1;
  constexpr double kLongest = 86400;
  constexpr double kLongestSession = 365 * kLongest;
  constexpr std::uint32_t kMostThreads = run::kMaxClients * run::kMaxWorkers;
  run::UserOptions given(text, "the server's configuration");
  run::ServerConfig config;
  given.text("address", config.address);
  given.number("port", 0, 65535, config.port);
  given.number("max_clients", 1, run::kMaxClients, config.max_clients);
  given.number("max_address_clients", 1, run::kMaxClients, config.max_address_clients);
  given.number("sessions", 0, std::numeric_limits<std::int64_t>::max(), config.sessions);
  given.text("device", config.device);
  given.number("gid_index", -1, 255, config.gid_index);
  given.authentication(config.authentication);
  given.number("max_memory", 0, std::numeric_limits<std::uint64_t>::max(), config.max_memory);
  given.number("max_address_memory", 0, std::numeric_limits<std::uint64_t>::max(),
               config.max_address_memory);
  given.number("max_threads", 1, kMostThreads, config.max_threads);
  given.number("max_address_threads", 1, kMostThreads, config.max_address_threads);
  given.seconds("timeout_s", kShortest, kLongest, config.timeout);
  given.seconds("max_timeout_s", kShortest, kLongest, config.max_timeout);
  given.seconds("max_idle_s", kShortest, kLongest, config.max_idle);
  given.seconds("max_session_s", kShortest, kLongestSession, config.max_session);
  given.numbers("cpus", 0, 1023, config.cpus);
  given.texts("allow", config.allow);
  given.texts("allow_providers", config.allow_providers);
  given.refuse_others();
  return config;
}

}  // namespace
}  // namespace rdmabench::c

struct rdmabench_server {
  rdmabench::run::ServerThread thread;
};

extern "C" {

int rdmabench_server_start(const char* config, rdmabench_callback on_event, void* user,
                           rdmabench_server** server, char** result) {
  return rdmabench::c::guarded(result, [&](std::string& /*text*/) {
    using namespace rdmabench;
    if (server == nullptr) throw Error(Fault::usage, "the place for the server is null");
    *server = nullptr;
    run::OnEvent log;
    if (on_event != nullptr) {
      log = [on_event, user](const std::string& line) { on_event(user, line.c_str()); };
    }
    const run::ServerConfig given = c::server_config(config != nullptr ? config : "{}");
    *server = new rdmabench_server{run::ServerThread(given, std::move(log))};
    return static_cast<int>(RDMABENCH_OK);
  });
}

uint16_t rdmabench_server_port(const rdmabench_server* server) {
  return server->thread.port();
}

void rdmabench_server_stop(rdmabench_server* server) {
  delete server;
}

}  // extern "C"
