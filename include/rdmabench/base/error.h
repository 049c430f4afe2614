// base: what every room needs and that knows nothing of any of them.
//
// Error is the one exception of the library. Set-up throws it; the measuring loops never do.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace rdmabench {

/// Whose move is next, and the exit code a command gives for it.
enum class Fault : int {
  failed = 1,       ///< the measurement, a check or the peer failed
  usage = 2,        ///< the caller asked for something wrong; the text says what would be right
  unavailable = 3,  ///< not to be had on this machine or in this build
};

/// What was called with what, the errno it gave, and what to try.
///
/// `what()` reads "WHAT: strerror (ERRNAME). REMEDY", leaving out the parts not given.
/// Thread rule: a value; share freely.
class Error : public std::runtime_error {
 public:
  /// `what` names the call and its arguments, `remedy` is a whole sentence or empty, and `code` a
  /// positive errno or 0.
  Error(Fault fault, std::string_view what, std::string_view remedy = {}, int code = 0);

  /// The same, whose text begins with "WHERE: ".
  Error at(std::string_view where) const;

  Fault fault() const noexcept { return fault_; }
  int code() const noexcept { return code_; }
  const std::string& remedy() const noexcept { return remedy_; }

 private:
  Error(const Error& other, const std::string& text);

  Fault fault_;
  int code_;
  std::string remedy_;
};

/// "Connection refused (ECONNREFUSED)" for a positive errno. Source: strerrorname_np(3).
std::string errno_text(int code);

}  // namespace rdmabench
