#include "token_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/descriptor.h"
#include "base/refuse.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/log.h"

namespace rdmabench::inline v1::control {
namespace {

constexpr mode_t kOthers = 077;

std::string value_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

[[noreturn]] void throw_cannot(const char* what, const std::string& path, int code) {
  throw Error(Fault::usage, fmt::format("cannot {} the token file '{}'", what, path),
              "Name another `token_file`.", code);
}

/// Throws Error(usage) unless this user and nobody else can read and write it. What root has given
/// to a group is for those whom root chose: the credentials of a service (systemd.exec(5)) and the
/// secrets of a pod are such files.
void check_mode(const struct stat& status, const std::string& path) {
  refuse_if(!S_ISREG(status.st_mode),
            fmt::format("the token file '{}' is not a regular file", path),
            "Name another `token_file`.");
  refuse_if(status.st_uid != geteuid() && status.st_uid != 0,
            fmt::format("the token file '{}' belongs to user {}, this is user {}", path,
                        status.st_uid, geteuid()),
            "Copy it to a file of your own, with mode 0600.");
  const mode_t others = status.st_uid == 0 && geteuid() != 0 ? kOthers & ~mode_t{S_IRGRP} : kOthers;
  refuse_if((status.st_mode & others) != 0,
            fmt::format("the token file '{}' has mode {:04o}: others can use it too", path,
                        status.st_mode & 07777U),
            fmt::format("If nobody else has read it: chmod 600 '{}'. Else make a new one.", path));
}

/// Every byte counts, a newline at the end too: copies of a file are equal. Files of /proc are
/// regular and have `size` 0: what they tell can be guessed.
std::shared_ptr<const Secret> read_all(const Descriptor& file, off_t size,
                                       const std::string& path) {
  WipedText bytes(std::string(kMaxSecret + 1, '\0'));
  std::size_t have = 0;
  while (have < bytes.text.size() && size > 0) {
    const ssize_t got = ::read(file.get(), bytes.text.data() + have, bytes.text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_cannot("read", path, errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  refuse_if(have < kMinSecret || have > kMaxSecret,
            fmt::format("the token file '{}' has {} bytes; {} to {} are needed", path,
                        have > kMaxSecret ? fmt::format("more than {}", kMaxSecret)
                                          : fmt::format("{}", have),
                        kMinSecret, kMaxSecret),
            fmt::format("Make one: (umask 077; head -c 32 /dev/urandom > '{}')", path));
  return std::make_shared<const Secret>(std::string_view(bytes.text).substr(0, have));
}

/// Null where there is no such file.
std::shared_ptr<const Secret> read_if_there(const std::string& path) {
  // Not to wait for the writer of a named pipe.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    if (errno == ENOENT) return nullptr;
    throw_cannot("open", path, errno);
  }
  struct stat status {};
  if (fstat(file.get(), &status) != 0) throw_cannot("look at", path, errno);
  check_mode(status, path);
  return read_all(file, status.st_size, path);
}

/// Under another name first: who finds the file finds all of it. link(2) does nothing where another
/// process was faster.
void make(const std::string& path) {
  // Not create_directories(): whatever the umask, nobody else may rename the file.
  std::filesystem::path folder;
  for (const std::filesystem::path& part : std::filesystem::path(path).parent_path()) {
    folder /= part;
    if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      throw_cannot("make the folder of", path, errno);
    }
  }

  WipedText bytes(random_bytes(kMinSecret));
  std::string own = path + ".XXXXXX";
  {
    const Descriptor file(mkostemp(own.data(), O_CLOEXEC));  // O_EXCL and mode 0600
    if (file.get() < 0) throw_cannot("make", path, errno);
    const ssize_t wrote = ::write(file.get(), bytes.text.data(), bytes.text.size());
    const int code = wrote < 0 ? errno : ENOSPC;
    if (wrote != static_cast<ssize_t>(bytes.text.size()) || fsync(file.get()) != 0) {
      unlink(own.c_str());
      throw_cannot("write", path, code);
    }
  }
  int code = link(own.c_str(), path.c_str()) == 0 ? 0 : errno;
  // Some file systems have no links. There the last of several first uses at once counts.
  if (code == EPERM || code == EOPNOTSUPP || code == ENOSYS) {
    code = rename(own.c_str(), path.c_str()) == 0 ? 0 : errno;
  }
  unlink(own.c_str());
  if (code != 0 && code != EEXIST) throw_cannot("make", path, code);
  if (code == 0) log_line([&] { return fmt::format("token: made {}", path); });
}

}  // namespace

std::string named_token_file() {
  return value_of("RDMABENCH_TOKEN_FILE");
}

std::string own_token_file() {
  // A relative one is to be ignored, says the XDG Base Directory Specification.
  std::string folder = value_of("XDG_CONFIG_HOME");
  if (!folder.starts_with('/')) {
    const std::string home = value_of("HOME");
    refuse_if(home.empty(),
              "neither RDMABENCH_TOKEN_FILE nor XDG_CONFIG_HOME nor HOME says where the token is",
              "Name a `token_file`.");
    if (!home.starts_with('/')) {  // another folder each time, and perhaps another user's
      throw Error(
          Fault::usage,
          fmt::format("HOME is '{}', not an absolute path: it does not say where the token is",
                      ascii_only(home, 100)),
          "Name a `token_file`, or set HOME to your home.");
    }
    folder = home + "/.config";
  }
  return folder + "/rdmabench/token";
}

std::shared_ptr<const Secret> read_token_file(const std::string& path) {
  if (auto secret = read_if_there(path)) return secret;
  throw Error(Fault::usage, fmt::format("there is no token file '{}'", path),
              fmt::format("Copy it from the other host, or make one: (umask 077; head -c 32 "
                          "/dev/urandom > '{}')",
                          path));
}

std::shared_ptr<const Secret> read_or_make_token_file(const std::string& path) {
  if (auto secret = read_if_there(path)) return secret;
  make(path);
  return read_token_file(path);
}

}  // namespace rdmabench::inline v1::control
