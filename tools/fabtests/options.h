// rdmabench fi_rma_bw and its like: fabtests' benchmarks by their names, so that fabtests' runner
// and its users' scripts can drive this program, and libfabric's own fi_pingpong. Their command
// lines, as fabtests 1.17 and libfabric 2.7 read them.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../flags/fields.h"
#include "../flags/flag.h"
#include "rdmabench/run/config.h"

namespace rdmabench::inline v1::tools::fabtests {

enum class Program : std::uint8_t {
  rma_bw,
  rdm_pingpong,
  rma_pingpong,
  rdm_bw,
  msg_pingpong,
  pingpong,  ///< libfabric's fi_pingpong(1)
};

struct Tool {
  std::string_view name;  ///< "fi_rma_bw"
  Program program;
};

/// All six, in the order of Program.
std::span<const Tool> tools();
std::string_view name(Program test);
constexpr bool is_ping_pong(Program test) {
  return test != Program::rma_bw && test != Program::rdm_bw;
}

/// A test that fabtests would not run here either. Its runner counts it as skipped.
class Skip : public std::runtime_error {
 public:
  static constexpr int kNoSys = 38;   ///< ENOSYS: not implemented
  static constexpr int kNoData = 61;  ///< ENODATA: no provider fits

  Skip(int code, const std::string& why) : std::runtime_error(why), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

struct Options {
  Program test = Program::rdm_pingpong;
  run::Config config;
  std::string host;           ///< of the server; "" = this is the server
  std::uint16_t port = 9228;  ///< fabtests' default; 47592 of fi_pingpong
  std::string source;         ///< -s: a name or an address of this side; "" = any
  std::vector<int> cores;     ///< --pin-core
  bool machine_readable = false;
  std::string answer;              ///< of -h or --version: print it, and do nothing else
  std::vector<std::string> words;  ///< the command line, as -m repeats it
  std::vector<std::string> notes;  ///< what was taken, and does not do what it did there
};

/// The options of `test` for what the library's errors name.
std::vector<FieldFlag> fields(Program test);

/// `words` are those after the program's name. Throws Error(usage) for what fabtests ends with
/// EXIT_FAILURE for, and Skip for what fabtests has and this program has not.
Options parse(Program test, const std::vector<std::string>& words);

Accepted accepted(const Tool& tool);

/// Runs the command line: without a host it serves one client and ends. Returns the exit code: 0;
/// 61 or 38 where fabtests would skip; else as fabtests does, an errno where there is one and 1.
int run(const Tool& tool, const std::vector<std::string>& words);

}  // namespace rdmabench::inline v1::tools::fabtests
