// rdmabench ucx_perftest: UCX's benchmark by its name, so that its users' commands and scripts can
// drive this program. The command line is that of UCX 1.13 to 1.22.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../flags/fields.h"
#include "../flags/flag.h"
#include "rdmabench/measure/statistics.h"
#include "rdmabench/run/config.h"

namespace rdmabench::inline v1::tools::ucx_perftest {

struct Tool {
  std::string_view name;
};
std::span<const Tool> tools();

/// What -t names.
struct Test {
  std::string_view name;          ///< "ucp_put_lat"
  std::string_view lower_name{};  ///< of the same over UCT, the layer below: "put_lat"
  std::string_view heading{};     ///< of the columns of times: "latency", "overhead"
  transport::OperationCode operation{};
  std::uint32_t window = 0;    ///< messages under way without -O; 0 = a ping-pong
  std::string_view instead{};  ///< what to use, where it is not taken
  transport::Service service = transport::Service::automatic;
};
std::span<const Test> tests();

/// -R.
struct Percentile {
  std::string_view word;  ///< "99.9"
  double rank;
  double measure::LatencySummary::*member;
};

struct Options {
  run::Config config;
  const Test* test = nullptr;  ///< none at a server that was given none
  std::string host;            ///< of the server; "" = this is the server
  std::uint16_t port = 13337;
  Percentile percentile{"50", 50, &measure::LatencySummary::p50_ns};
  std::vector<int> processors;     ///< -c
  bool final_only = false;         ///< -f
  bool csv = false;                ///< -v
  bool groups_digits = false;      ///< -N
  std::string answer;              ///< of -h or --version: print it, and do nothing else
  std::vector<std::string> notes;  ///< what was taken, and does not do what it did there
};

/// The options for what the library's errors name.
std::vector<FieldFlag> fields();

/// `words` are those after the program's name. Throws Error(usage) for what the original refuses,
/// and for what it has and this program has not.
Options parse(const std::vector<std::string>& words);

Accepted accepted(const Tool& tool);

/// Runs the command line: without a host it serves one client and ends. Returns the exit code.
int run(const Tool& tool, const std::vector<std::string>& words);

}  // namespace rdmabench::inline v1::tools::ucx_perftest
