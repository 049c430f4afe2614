#include "log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <set>

#include "base/descriptor.h"
#include "base/text.h"

namespace rdmabench::inline v1::collective::nccl {
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

/// Not owned: no one closes it.
int log_file() {
  static const int file = ::memfd_create("nccl-log", MFD_CLOEXEC);
  return file;
}

/// Whether that name means it: where /proc is of another PID namespace, it is another process's.
bool is_log_file(const std::string& path) {
  struct stat wanted {};
  struct stat found {};
  const Descriptor again(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  return again.get() >= 0 && ::fstat(again.get(), &found) == 0 &&
         ::fstat(log_file(), &wanted) == 0 && found.st_dev == wanted.st_dev &&
         found.st_ino == wanted.st_ino;
}

std::string log_from(off_t at) {
  std::string text;
  std::array<char, 1U << 16U> part{};
  while (text.size() < kMostLog) {
    const ssize_t got = ::pread(log_file(), part.data(), part.size(), at);
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
    at += got;
  }
  return text;
}

}  // namespace

LogFacts parse_log(std::string_view text) {
  LogFacts facts;
  std::set<std::string> routes;
  for (const std::string_view line : lines_of(text)) read_line(line, facts, routes);
  facts.any_route = !routes.empty();
  facts.routes = fmt::format("{}", fmt::join(routes, ", "));
  return facts;
}

Log::Log(const std::optional<std::string>& home, const std::string& processes) {
  if (const std::string where =
          set_by_user({"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"}, home);
      !where.empty()) {
    reason_ = fmt::format("{} is set, so NCCL's log is the user's", where);
    return;
  }
  if (log_file() < 0) {
    reason_ = "no memory for NCCL's log (memfd_create)";
    return;
  }
  const std::string path = fmt::format("{}/{}/fd/{}", processes, ::getpid(), log_file());
  // NCCL opens it by its name, and writes to standard output where it cannot (src/debug.cc).
  if (!is_log_file(path)) {
    reason_ = fmt::format("NCCL could not open its log again as {}", path);
    return;
  }
  path_ = path;
  start_ = ::lseek(log_file(), 0, SEEK_END);
}

LentSettings Log::lend() const {
  if (path_.empty()) return LentSettings(LentSettings::Values{});
  return LentSettings(LentSettings::Values{{"NCCL_DEBUG_FILE", path_},
                                           {"NCCL_DEBUG_SUBSYS", "INIT,NET,P2P,SHM"},
                                           {"NCCL_DEBUG", "INFO"}});
}

report::Facts Log::facts() const {
  report::Facts facts;
  const bool none = path_.empty();
  const LogFacts told = none ? LogFacts{} : parse_log(log_from(start_));
  // NCCL need not load it again for a process's later communicators.
  const std::string plugin = none ? "" : parse_log(log_from(0)).plugin;
  const auto say = [&](const char* name, const std::string& value, const std::string& why) {
    if (!value.empty()) {
      facts.push_back({name, value});
    } else {
      facts.push_back({fmt::format("{}_unknown", name), none ? reason_ : why});
    }
  };
  say("network", told.network, "NCCL's log does not name it");
  say("net_plugin", plugin.empty() && !told.network.empty() ? "none" : plugin,
      "NCCL's log does not name its network");
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

}  // namespace rdmabench::inline v1::collective::nccl
