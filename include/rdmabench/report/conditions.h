// What may have disturbed a run: the hardware's counters, and the suspicions that follow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmabench::report {

/// By how much one hardware counter grew during a run. It counts what its device did for every
/// program. Its texts may come from a peer: every writer escapes them.
struct Counter {
  std::string device;  ///< "mlx5_0:1", "eth0", or "machine" for what the kernel keeps of all of it
  std::string name;    ///< the same for every vendor: "ack_timeouts"; see docs/counters.md
  std::string kind;    ///< "retransmission", "receiver_not_ready", "congestion", "discard", ...
  std::string source;  ///< the kernel's file: "hw_counters/local_ack_timeout_err"
  std::optional<std::uint64_t> change;  ///< none: it went backwards, so the change is unknown
  bool at_least = false;                ///< it stands at its upper end, and may have missed more
};

/// Of both sides of a run.
struct Counters {
  std::vector<Counter> client;
  std::vector<Counter> server;
};

/// Why a run's numbers may not be what they seem to be. A run with one is suspect.
struct Suspicion {
  std::string code;       ///< one word for programs: "retransmissions", "migration", ...
  std::string text;       ///< what was found, with its number, and what to do about it
  std::string side{};     ///< "client", "server" or "client, server"
  std::string summary{};  ///< the same for every suspicion of this code: what was found
  std::string remedy{};   ///< likewise: what to do about it
};

}  // namespace rdmabench::report
