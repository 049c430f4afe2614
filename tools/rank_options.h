// --rank, --ranks and --rendezvous, of every command whose ranks a launcher starts.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "flags/values.h"
#include "options.h"
#include "rdmabench/control/rendezvous.h"

namespace rdmabench::tools {

/// How many ranks a command takes.
struct RankBounds {
  std::uint32_t least = 1;
  std::uint32_t most = control::kMaxRanks;
};

/// `to` has to outlive `app`.
inline void add_rank_options(CLI::App& app, control::RendezvousOptions& to, RankBounds bounds,
                             const std::string& group) {
  add_parsed(
      app, "--rank",
      [&to, bounds](const std::string& text) {
        to.rank = whole_as<std::uint32_t>({"--rank", text}, 0, bounds.most - 1);
      },
      "rank of this process; 0 leads [from the launcher]")
      ->type_name("N")
      ->group(group);
  add_parsed(
      app, "--ranks",
      [&to, bounds](const std::string& text) {
        to.size = whole_as<std::uint32_t>({"--ranks", text}, bounds.least, bounds.most);
      },
      bounds.least == 1 ? "number of ranks; 1 is this process alone [from the launcher]"
                        : "number of ranks [from the launcher]")
      ->type_name("N")
      ->group(group);
  add_parsed(
      app, "--rendezvous", [&to](const std::string& text) { to.address = text; },
      "address of rank 0, HOST:PORT [from the launcher]")
      ->type_name("ADDRESS")
      ->group(group);
  add_authentication(app, to.authentication, group);
}

}  // namespace rdmabench::tools
