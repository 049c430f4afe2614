// What NCCL chose for a call, which it tells to a profiler plugin alone. The plugin is this
// program: NCCL_PROFILER_PLUGIN=STATIC_PLUGIN makes NCCL look for its table in the program that
// loaded it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "rdmabench/report/fact.h"

namespace rdmabench::collective::nccl {

/// Of one call on one rank.
struct Choice {
  using Word = std::array<char, 32>;  // ends with a zero; printable

  bool collective = false;  ///< NCCL told of a collective
  bool sends = false;       ///< NCCL told of sends and receives
  bool at_most = false;     ///< NCCL before 2.27 tells a bound of the channels
  std::uint32_t channels = 0;
  Word algorithm{};
  Word protocol{};
};

/// One line, the same for the same choice.
std::string to_text(const Choice& choice);

/// algorithm, protocol and channels (channels_at_most), or algorithm_unknown and why.
report::Facts to_facts(const Choice& choice);

/// The home in which NCCL of this version looks for the user's .nccl.conf: that of the password
/// database, from 2.30 on $HOME. None where there is none. Source: NCCL's src/misc/param.cc.
std::optional<std::string> home_of_settings(int nccl_version);

/// Where the user has set a profiler plugin: "NCCL_PROFILER_PLUGIN", or that in a file of NCCL's
/// settings; "" where he has not.
std::string users_plugin(const std::optional<std::string>& home);

/// The ear of one rank. NCCL's mask of events is 0 but between listen() and stop(), so that nothing
/// is told, and nothing disturbed, while the clock runs. The mask is NCCL's one of the process:
/// with ranks that are threads it is 0 when none of them listens. Thread rule: one thread; NCCL's
/// own threads tell.
class Profiler {
 public:
  /// Asks NCCL to load this program's plugin, unless the user has set another or none, in the
  /// environment or in a file of NCCL's settings. To be made before NCCL's first communicator.
  Profiler(int nccl_version, std::uint32_t rank);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// Why nothing will be told, as a sentence; "" where it will. Once there is a communicator.
  std::string unavailable() const;

  void listen() noexcept;
  /// What was told since.
  Choice stop() noexcept;

  /// Known to NCCL's threads while it listens.
  struct Ear {
    std::uint32_t rank = 0;
    Choice choice{};
    Ear* next = nullptr;
  };

 private:
  std::string reason_;
  Ear ear_;
};

}  // namespace rdmabench::collective::nccl
