#include "verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_session.h"
#include "measurement.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/printable.h"

namespace rdmabench::run {
namespace {

constexpr int kPatience = 3;  // timeouts of the session, after which no other way is begun
constexpr std::string_view kStaged = "staged";

bool is_left(std::string_view route) {
  return route != kStaged;
}

/// Whether either side has a way that it took and may leave for another one.
bool can_step_down(const Session& session, const report::Facts& server) {
  const std::vector<std::string> own = session.memory_routes();
  if (std::any_of(own.begin(), own.end(), is_left)) return true;
  return std::any_of(server.begin(), server.end(), [](const report::Fact& fact) {
    const auto* const route = std::get_if<std::string>(&fact.value);
    return fact.name == "memory_route" && route != nullptr && is_left(*route);
  });
}

}  // namespace

bool may_start_over(const SessionSpec& spec) {
  return spec.gpu && spec.gpu_mapping == name(memory::GpuMapping::automatic);
}

void add_failed(const Session& session, std::string_view why,
                std::vector<memory::FailedWay>& failed) {
  for (std::string& route : session.memory_routes()) {
    if (is_left(route)) failed.push_back({std::move(route), control::printable(why)});
  }
}

std::string verify_gpu_memory(Session& session, const Config& config, Agreement& agreement,
                              std::vector<std::string>& notes) {
  if (!session.spec().gpu) return "";
  const Deadline last = Deadline::after(kPatience * config.timeout);
  std::vector<memory::FailedWay> failed;
  for (int tried = 1;; ++tried) {
    std::string why;
    try {
      Measurement(session, config, nullptr).verify();
      return "";
    } catch (const Error& error) {
      why = error.what();
    }
    const std::string what =
        fmt::format("the transfer that is verified before any is timed failed, with {}: {}",
                    routes_text(session, agreement.server_environment), why);
    if (!may_start_over(session.spec()) || tried == kMostVerifications || last.passed() ||
        !can_step_down(session, agreement.server_environment)) {
      return Error(Fault::failed, what,
                   "Try another --gpu-mapping (default, pcie, data-direct), and --memory host to "
                   "see whether the path itself works.")
          .what();
    }
    notes.push_back(fmt::format("GPU memory: {}. The next way was taken.", what));
    add_failed(session, why, failed);
    try {
      session.start_over(why);
      agreement = negotiate(session, config, failed);
    } catch (const Error& error) {
      throw Error(error.fault(),
                  fmt::format("{}; and then no other way was found: {}", what, error.what()));
    }
  }
}

}  // namespace rdmabench::run
