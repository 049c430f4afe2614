#include "writing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <utility>

#include "base/text.h"
#include "rdmabench/base/error.h"
#include "rdmabench/report/text_table.h"

namespace rdmabench::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRemedy = "Name a file that can be written.";

[[noreturn]] void fail_to_write(const std::string& path, int code) {
  throw Error(Fault::failed, fmt::format("write to '{}'", path), kRemedy, code);
}

void write_all(const std::string& text, const std::string& path, int how = O_TRUNC) {
  const int file = open(path.c_str(), O_WRONLY | how | O_CLOEXEC);
  if (file < 0) fail_to_write(path, errno);
  std::size_t done = 0;
  int code = 0;
  while (code == 0 && done < text.size()) {
    const ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      code = errno;
    }
  }
  // A file system over a network may say here that it is full. A pipe cannot be synchronised.
  if (code == 0 && fsync(file) != 0 && errno != EINVAL && errno != EROFS) code = errno;
  if (close(file) != 0 && code == 0) code = errno;
  if (code != 0) fail_to_write(path, code);
}

}  // namespace

NewFile::NewFile(std::string path) : path_(std::move(path)) {
  struct stat old {};
  // The kernel follows links, or refuses to: in /tmp one may be of another user
  // (fs.protected_symlinks of proc(5)).
  const int found = open(path_.c_str(), O_PATH | O_CLOEXEC);
  const bool exists = found >= 0;
  if (!exists && errno != ENOENT) fail_to_write(path_, errno);
  part_ = path_;
  if (exists) {
    std::error_code ignored;
    const bool known = fstat(found, &old) == 0;
    const fs::path target = fs::read_symlink(fmt::format("/proc/self/fd/{}", found), ignored);
    close(found);
    if (!known || !S_ISREG(old.st_mode)) return;
    if (!target.empty()) path_ = target;
  }
  part_ = fmt::format("{}.{}.part", path_, getpid());
  unlink(part_.c_str());  // left by an earlier process of this number
  const int file = open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file >= 0) {
    if (exists) fchmod(file, old.st_mode & 07777);
    close(file);
    return;
  }
  const int code = errno;
  if (!exists || access(path_.c_str(), W_OK) != 0) fail_to_write(path_, exists ? errno : code);
  part_ = path_;
}

NewFile::~NewFile() {
  if (part_ != path_) unlink(part_.c_str());
}

void NewFile::finish() {
  if (part_ != path_ && rename(part_.c_str(), path_.c_str()) != 0) fail_to_write(path_, errno);
  part_ = path_;
}

void check_writable(const std::string& path) {
  if (path.empty()) return;
  int code = 0;
  try {
    const NewFile probe(path);
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) code = EISDIR;
  } catch (const Error& error) {
    code = error.code();
  }
  if (code != 0) throw Error(Fault::usage, fmt::format("write to '{}'", path), kRemedy, code);
}

void write_file(const std::string& text, const std::string& path) {
  NewFile file(path);
  write_all(text, file.part());
  file.finish();
}

void append(const std::string& text, const std::string& path) {
  write_all(text, path, O_APPEND);
}

void write_text(const std::string& text, const std::string& path) {
  const auto print = [&text] {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
      throw Error(Fault::failed, "write to standard output", {}, errno);
    }
  };
  if (path.empty()) return print();
  try {
    write_file(text, path);
  } catch (const Error&) {
    print();  // what took minutes must not be lost
    throw;
  }
}

void prepare_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number is this one. Standard input is open for writing and the others for
    // reading only.
    open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

void flush_output() {
  std::cout.flush();
  const bool whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (!whole) throw Error(Fault::failed, "write to standard output", {}, errno);
}

void tell(std::string_view text) {
  std::string line = "rdmabench: ";
  // An error has its remedy on a line of its own.
  for (const std::string_view part : split(text, '\n')) line += report::printable(part) + '\n';
  std::fputs(line.c_str(), stderr);
}

int tell_left_out(const std::vector<std::string>& why) {
  for (const std::string& one : why) tell("left out: " + one);
  return why.empty() ? 0 : static_cast<int>(Fault::usage);
}

}  // namespace rdmabench::tools
