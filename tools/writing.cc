#include "writing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "base/text.h"
#include "rdmabench/base/error.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::tools {

namespace {

/// Without what it did not take: the end of the process would try that again, and tell again.
[[noreturn]] void throw_not_written() {
  const int code = errno;
  __fpurge(stdout);
  std::clearerr(stdout);
  constexpr const char* kWhat = "write to standard output";
  if (code == EPIPE) throw NoReader(Fault::failed, kWhat, {}, code);
  throw Error(Fault::failed, kWhat, {}, code);
}

}  // namespace

void write_file(const std::string& text, const std::string& path) {
  NewFile file(path);
  file.write(text);
  file.finish();
}

void append(const std::string& text, const std::string& path) {
  const Descriptor file = find_place(path).open(O_WRONLY | O_APPEND);
  const int code = file.get() < 0 ? errno : write_all(file.get(), text);
  if (code != 0) {
    throw Error(Fault::failed, fmt::format("write to '{}'", path),
                "Name a file that can be written.", code);
  }
}

void write_text(const std::string& text, const std::string& path) {
  const auto print = [&text] {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
      throw_not_written();
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

void write_page(const Output& to, const std::string& text,
                const std::function<std::string()>& plain) {
  if (to.format != "html" || to.output.empty() || isatty(STDOUT_FILENO) == 0) {
    return write_text(text, to.output);
  }
  try {
    write_file(text, to.output);
  } catch (const Error&) {
    write_text(plain());
    throw;
  }
}

void write_too(const std::string& text, const std::string& path,
               const std::function<void()>& rest) {
  try {
    if (!path.empty()) write_file(text, path);
  } catch (const Error&) {
    rest();
    throw;
  }
  rest();
}

void write_result(const std::string& text, const std::string& json, const Output& to) {
  write_too(json, to.json, [&] { write_text(to.format == "json" ? json : text, to.output); });
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
  if (!whole) throw_not_written();
}

void tell(std::string_view text) {
  std::string line = "rdmabench: ";
  // An error has its remedy on a line of its own.
  for (const std::string_view part : split(text, '\n')) line += report::terminal_safe(part) + '\n';
  std::fputs(line.c_str(), stderr);
}

int tell_left_out(const std::vector<std::string>& why) {
  for (const std::string& one : why) tell("left out: " + one);
  return why.empty() ? 0 : static_cast<int>(Fault::usage);
}

}  // namespace rdmabench::inline v1::tools
