// What NCCL chose for a call, which it reports only to a profiler plugin. The plugin is this
// program: with NCCL_PROFILER_PLUGIN=STATIC_PLUGIN NCCL looks for the plugin's table in the
// program.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "rdmabench/results/result.h"
#include "settings.h"

namespace rdmabench::inline v1::collective::nccl {

/// The choice for one call on one rank.
struct Choice {
  using Word = std::array<char, 32>;  // null-terminated and printable

  bool collective = false;  ///< NCCL reported a collective
  bool sends = false;       ///< NCCL reported sends and receives
  bool copies = false;      ///< NCCL reported a collective by the GPU's copy engines
  bool at_most = false;     ///< `channels` is only an upper bound (NCCL before 2.27)
  std::uint32_t channels = 0;
  Word algorithm{};
  Word protocol{};
};

/// One line; equal choices give equal lines.
std::string to_text(const Choice& choice);

/// algorithm, protocol and channels (channels_at_most), or algorithm_unknown and why.
report::Facts to_facts(const Choice& choice);

/// Receives the events of one rank. NCCL's mask of events is 0 except between listen() and stop(),
/// so that nothing is reported during timing. There is one mask for the process: with ranks as
/// threads it is 0 when none of them listens. Thread rule: one thread; events come from NCCL's
/// threads.
class Profiler {
 public:
  /// Must be created before NCCL's first communicator.
  Profiler(int nccl_version, std::uint32_t rank);
  ~Profiler();
  Profiler& operator=(Profiler&&) = delete;

  /// Makes NCCL load this program's plugin with a communicator that is made meanwhile, unless the
  /// user has set another or none. Source: src/plugin/profiler.cc of NCCL 2.23 to 2.30, which reads
  /// the setting with each communicator that is the process's only one.
  LentSettings lend() const;

  /// Why nothing will be reported, as a sentence; "" if it will. Valid once there is a
  /// communicator.
  std::string unavailable() const;

  void listen() noexcept;
  /// What was reported since listen().
  Choice stop() noexcept;

  /// NCCL's threads use it while it listens.
  struct Subscription {
    std::uint32_t rank = 0;
    Choice choice{};
    Subscription* next = nullptr;
  };

 private:
  std::string reason_;
  Subscription subscription_;
};

}  // namespace rdmabench::inline v1::collective::nccl
