// What `rdmabench coll` takes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "coll_job.h"
#include "options.h"
#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::tools {

struct CollOptions : Output {
  const CLI::App* command = nullptr;
  CollJob job{.backend = "mpi"};
  collective::PointToPointOptions wire{.memory = ""};
  std::vector<std::string> operations;
  std::vector<std::string> types{"float32"};
  std::vector<std::string> reductions{"sum"};
  std::vector<std::uint64_t> sizes = parse_size_list("8:4M");
  std::string place = "out";
  std::uint32_t root = 0;
  std::string groups;
  std::vector<std::string> topology;
  bool bisect = false;
  std::uint32_t launches = 1;
  Limits expect;
};

void add_coll_options(CLI::App& app, CollOptions& options);

/// Completes the options. Throws Error(usage) for those that do not go together.
void settle(CollOptions& options);

}  // namespace rdmabench::inline v1::tools
