#include "rdmabench/run/server.h"

#include "c/guard.h"
#include "rdmabench.h"
#include "run/server_options.h"
#include "run/user_options.h"

namespace rdmabench::inline v1::c {
namespace {

run::ServerConfig server_config(std::string_view text) {
  run::UserOptions given(text, "the server's configuration");
  run::ServerConfig config;
  const auto read = [&](const char* name, const char* /*flag*/, auto& value, const char* /*help*/,
                        const run::Bounds& bounds = {}) {
    using T = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<T, control::Authentication>) {
      given.authentication(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      given.text(name, value);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      given.texts(name, value);
    } else if constexpr (std::is_same_v<T, std::vector<int>>) {
      given.numbers(name, static_cast<int>(bounds.min), static_cast<int>(bounds.max), value);
    } else if constexpr (std::is_same_v<T, std::chrono::nanoseconds>) {
      given.seconds(name, 1e-3 * static_cast<double>(bounds.min),
                    1e-3 * static_cast<double>(bounds.max), value);
    } else {
      const bool any = bounds.max == 0;
      given.number(name, bounds.min, any ? ~0ULL : static_cast<std::uint64_t>(bounds.max), value);
    }
  };
  run::walk_options(config, read);
  given.refuse_others();
  return config;
}

}  // namespace
}  // namespace rdmabench::inline v1::c

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
      log = [on_event, user](const run::SessionEvent& event) {
        on_event(user, run::line_of(event).c_str());
      };
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
