// base: errors, units, deadlines and ownership of handles, for all other modules.
//
// Error is the only exception of the library. Set-up throws it; the measuring loops never do.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rdmabench {

/// The kind of an error. Its value is the exit code of a command.
enum class Fault : int {
  failed = 1,       ///< the measurement, a check or the peer failed
  usage = 2,        ///< wrong use by the caller; the text names the right use
  unavailable = 3,  ///< not available on this machine or in this build
};

/// The call of another library that failed, and with what.
struct FailedCall {
  std::string library{};  ///< "libibverbs", "libfabric", "libc"; "" = none, or not known
  std::string name{};     ///< "ibv_reg_mr"; "" = none, or not known
  std::string status{};   ///< of a completion that failed: "IBV_WC_RETRY_EXC_ERR"
  int code = 0;           ///< a positive errno; 0 if there is none
};

/// A failed call with its arguments, its errno, and a remedy.
///
/// `what()` is "WHAT: strerror (ERRNAME). REMEDY" without the parts that are empty.
/// Thread rule: a value; share freely.
class Error : public std::runtime_error {
 public:
  /// `what` names the call and its arguments. `remedy` is whole sentences or empty. `code` is a
  /// positive errno or 0. `call` says the same to a program; its `code` may be left out.
  Error(Fault fault, std::string_view what, std::string_view remedy = {}, int code = 0,
        FailedCall call = {});

  /// The same error with the prefix "WHERE: ".
  Error at(std::string_view where) const;

  Fault fault() const noexcept { return fault_; }
  int code() const noexcept { return call_.code; }
  const FailedCall& call() const noexcept { return call_; }
  const std::string& remedy() const noexcept { return remedy_; }

 private:
  Error(const Error& other, const std::string& text);

  Fault fault_;
  FailedCall call_;
  std::string remedy_;
};

/// "Connection refused (ECONNREFUSED)" for a positive errno. Source: strerrorname_np(3).
std::string errno_text(int code);

/// `text` with "; " for its line breaks and '?' for whatever else is not printable ASCII, so that a
/// peer can neither break a log line nor control a terminal; cut after `limit` characters, which
/// "..." then shows.
std::string ascii_only(std::string_view text, std::size_t limit = 1000);

}  // namespace rdmabench
