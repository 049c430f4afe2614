#include "log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <set>

#include "base/text.h"

namespace rdmabench::collective::nccl {
namespace {

/// The word after `mark` in the line; "" if `mark` is not in it.
std::string_view word_after(std::string_view line, std::string_view mark) {
  const std::size_t found = line.find(mark);
  if (found == std::string_view::npos) return "";
  line.remove_prefix(found + mark.size());
  return line.substr(0, line.find_first_of(" \r"));
}

std::string_view rest_after(std::string_view line, std::string_view mark) {
  const std::size_t found = line.find(mark);
  return found == std::string_view::npos ? "" : line.substr(found + mark.size());
}

void read_line(std::string_view line, LogFacts& facts, std::set<std::string>& routes) {
  if (const auto word = rest_after(line, "Using network "); !word.empty()) facts.network = word;
  if (const auto word = rest_after(line, "Loaded net plugin "); !word.empty()) facts.plugin = word;
  if (line.find("Channel ") == std::string_view::npos) return;
  const std::string_view route = word_after(line, " via ");
  if (route.empty()) return;
  routes.emplace(route);
  if (route.rfind("NET/", 0) != 0) return;
  const bool direct = route.find("/GDRDMA") != std::string_view::npos;
  facts.gpudirect = direct && (facts.gpudirect || !facts.any_network_route);
  facts.any_network_route = true;
}

constexpr std::size_t kMostLog = std::size_t{64} << 20;

}  // namespace

LogFacts parse_log(std::string_view text) {
  LogFacts facts;
  std::set<std::string> routes;
  for (const std::string_view line : lines_of(text)) read_line(line, facts, routes);
  facts.any_route = !routes.empty();
  facts.routes = fmt::format("{}", fmt::join(routes, ", "));
  return facts;
}

Log::Log(const std::string& descriptors) {
  for (const char* const name : {"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"}) {
    if (std::getenv(name) != nullptr) {
      reason_ = fmt::format("{} is set, so NCCL's log is the user's", name);
      return;
    }
  }
  file_ = Descriptor(::memfd_create("nccl-log", 0));
  if (file_.get() < 0) {
    reason_ = fmt::format("no memory for NCCL's log (memfd_create: errno {})", errno);
    return;
  }
  const std::string path = fmt::format("{}/{}", descriptors, file_.get());
  // NCCL opens it by its name, and writes to standard output where it cannot (src/debug.cc).
  const Descriptor again(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (again.get() < 0) {
    reason_ = fmt::format("NCCL could not open its log again as {} (errno {})", path, errno);
    file_ = Descriptor();
    return;
  }
  ::setenv("NCCL_DEBUG_FILE", path.c_str(), 1);
  ::setenv("NCCL_DEBUG_SUBSYS", "INIT,NET,P2P,SHM", 1);
  ::setenv("NCCL_DEBUG", "INFO", 1);
}

std::string Log::text() const {
  std::string text;
  std::array<char, 1U << 16U> part{};
  for (off_t at = 0; text.size() < kMostLog;) {
    const ssize_t got = ::pread(file_.get(), part.data(), part.size(), at);
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
    at += got;
  }
  return text;
}

report::Facts Log::facts() const {
  report::Facts facts;
  const bool none = file_.get() < 0;
  const LogFacts told = none ? LogFacts{} : parse_log(text());
  const auto say = [&](const char* name, const std::string& value, const std::string& why) {
    if (!value.empty()) {
      facts.push_back({name, value});
    } else {
      facts.push_back({fmt::format("{}_unknown", name), none ? reason_ : why});
    }
  };
  say("network", told.network, "NCCL's log does not name it");
  say("net_plugin", told.plugin.empty() && !none ? "none" : told.plugin, "");
  say("routes", told.routes, "NCCL has not connected two ranks yet");
  if (told.any_network_route) {
    facts.push_back({"gpudirect", told.gpudirect});
  } else {
    facts.push_back({"gpudirect_unknown", none ? reason_
                                          : told.any_route
                                              ? "no connection of this rank goes through a NIC"
                                              : "NCCL has not connected two ranks yet"});
  }
  return facts;
}

}  // namespace rdmabench::collective::nccl
