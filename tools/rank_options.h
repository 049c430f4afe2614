// --rank, --ranks and --rendezvous, of every command whose ranks a launcher starts.
#pragma once

#include <cstdint>

#include "options.h"
#include "rdmabench/control/rendezvous.h"

namespace rdmabench::tools {

/// `least` and `most`: how many ranks the command takes.
inline void add_rank_options(const OptionGroup& group, control::RendezvousOptions& to,
                             std::uint32_t least, std::uint32_t most) {
  group.whole("--rank", to.rank, 0, most - 1, "rank of this process; 0 leads [from the launcher]");
  group.whole("--ranks", to.size, least, most,
              least == 1 ? "number of ranks; 1 is this process alone [from the launcher]"
                         : "number of ranks [from the launcher]");
  group.plain("--rendezvous", to.address, "ADDRESS",
              "address of rank 0, HOST:PORT [from the launcher]");
  add_authentication(group, to.authentication);
}

}  // namespace rdmabench::tools
