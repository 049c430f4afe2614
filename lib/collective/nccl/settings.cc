#include "settings.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>

#include "profiler_abi.h"

namespace rdmabench::inline v1::collective::nccl {
namespace {

/// Of this process: how many of LentSettings have a variable.
struct Loans {
  std::mutex mutex;
  std::map<std::string, int, std::less<>> holders;
};
Loans& loans() {
  static Loans all;
  return all;
}

bool is_users(const char* name) {
  const std::scoped_lock lock(loans().mutex);
  return std::getenv(name) != nullptr && loans().holders.count(name) == 0;
}

/// Finds "NAME=..." in a file that NCCL reads into its environment.
bool sets(const std::string& path, const char* name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(std::string(name) + '=', 0) == 0) return true;
  }
  return false;
}

/// Empty for a user id without a name, as in some containers.
std::optional<std::string> home_by_password_database() {
  constexpr std::size_t kFirst = 1024;
  constexpr std::size_t kMost = std::size_t{1} << 20;
  for (std::vector<char> room(kFirst); room.size() <= kMost; room.resize(2 * room.size())) {
    passwd entry{};
    passwd* found = nullptr;
    const int fault = ::getpwuid_r(::getuid(), &entry, room.data(), room.size(), &found);
    if (fault == ERANGE) continue;
    if (fault != 0 || found == nullptr || found->pw_dir == nullptr) return std::nullopt;
    return found->pw_dir;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> home_of_settings(int nccl_version) {
  if (nccl_version < profiler::kTakesHome) return home_by_password_database();
  const char* const home = std::getenv("HOME");
  return home == nullptr ? std::nullopt : std::optional<std::string>(home);
}

std::string set_by_user(std::initializer_list<const char*> names,
                        const std::optional<std::string>& home) {
  for (const char* const name : names) {
    if (is_users(name)) return name;
  }
  const char* const own = std::getenv("NCCL_CONF_FILE");
  const bool named = own != nullptr && *own != '\0';
  const std::string users = named ? std::string(own) : home ? *home + "/.nccl.conf" : std::string();
  for (const std::string& path : {users, std::string("/etc/nccl.conf")}) {
    for (const char* const name : names) {
      if (sets(path, name)) return fmt::format("{} in '{}'", name, path);
    }
  }
  return "";
}

LentSettings::LentSettings(const Values& values) {
  names_.reserve(values.size());
  const std::scoped_lock lock(loans().mutex);
  for (const auto& [name, value] : values) {
    const auto held = loans().holders.find(name);
    if (held == loans().holders.end()) {
      if (std::getenv(name) != nullptr) continue;
      loans().holders.emplace(name, 1);
      ::setenv(name, value.c_str(), 1);
    } else {
      ++held->second;
    }
    names_.push_back(name);
  }
}

LentSettings::~LentSettings() {
  const std::scoped_lock lock(loans().mutex);
  // The last one first: unsetenv(3) moves the variables behind it, which others may be reading.
  for (auto name = names_.rbegin(); name != names_.rend(); ++name) {
    const auto held = loans().holders.find(*name);
    if (--held->second != 0) continue;
    loans().holders.erase(held);
    ::unsetenv(*name);
  }
}

}  // namespace rdmabench::inline v1::collective::nccl
