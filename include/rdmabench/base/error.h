// base: errors, units, deadlines and ownership of handles, for all other modules.
//
// Error is the only exception of the library. Set-up throws it; the measuring loops never do. What
// a program needs to know of a failure is a Failure, whether it was thrown or ended a run.
#pragma once

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "rdmabench/features.h"

namespace rdmabench::inline v1 {

/// The kind of an error. Its value is what a function of the C interface returns, and the exit code
/// of a command that no signal ended.
enum class Fault : int {
  failed = 1,       ///< the measurement, a check or the peer failed
  usage = 2,        ///< wrong use by the caller; the text names the right use
  unavailable = 3,  ///< not available on this machine or in this build
  cancelled = 4,    ///< the caller asked to stop
};

/// "failed", "usage", "unavailable", "cancelled": as in a document.
std::string_view name(Fault fault) noexcept;

/// What failed, for a program. The text beside it is for people.
struct Failure {
  Fault fault = Fault::failed;
  int code = 0;           ///< a positive errno; 0 if there is none
  std::string outcome{};  ///< of the epoch it ended: "stalled"; of any cancel "cancelled"; or empty
  // Empty where that is not known.
  std::string library{};    ///< whose call failed: "libibverbs", "libfabric", "libc"
  std::string call{};       ///< "ibv_reg_mr"
  std::string status{};     ///< of a completion that failed: "IBV_WC_RETRY_EXC_ERR"
  std::string operation{};  ///< of the epoch: "write", or a pattern's name
  std::string peer{};       ///< of the run: "node2:18515"
  std::string remedy{};     ///< whole sentences
};

/// A failed call with its arguments, its errno, and a remedy.
///
/// `what()` is "WHAT: strerror (ERRNAME). REMEDY" without the parts that are empty.
/// Thread rule: a value; share freely.
class Error : public std::runtime_error {
 public:
  /// `what` names the call and its arguments. `remedy` is whole sentences or empty. `code` is a
  /// positive errno or 0. `known` says the rest to a program; its fault and remedy, and a code that
  /// is 0, become those.
  Error(Fault fault, std::string_view what, std::string_view remedy = {}, int code = 0,
        Failure known = {});

  /// The same error with the prefix "WHERE: ".
  Error at(std::string_view where) const;

  /// Of a failure with another side that is not named yet.
  void set_peer(std::string peer) {
    if (failure_.peer.empty()) failure_.peer = std::move(peer);
  }

  const Failure& failure() const noexcept { return failure_; }
  Fault fault() const noexcept { return failure_.fault; }
  int code() const noexcept { return failure_.code; }
  const std::string& remedy() const noexcept { return failure_.remedy; }

 private:
  Error(const Error& other, const std::string& text);

  Failure failure_;
};

/// The caller's own request ended what was under way. Its fault is `cancelled`.
class Cancelled : public Error {
 public:
  Cancelled();
};

/// Of any exception: what an Error knows, and of another one that something failed.
Failure failure_of(const std::exception& error);

/// "Connection refused (ECONNREFUSED)" for a positive errno. Source: strerrorname_np(3).
std::string errno_text(int code);

/// `text` with "; " between its lines and '?' for whatever else is not printable ASCII, so that a
/// peer can neither break a log line nor control a terminal; cut after `limit` characters, which
/// "..." then shows.
std::string ascii_only(std::string_view text, std::size_t limit = 1000);

}  // namespace rdmabench::inline v1
