// What came of judging one thing: the same words for a check of a node, a case of a plugin, a
// limit, a requirement and a document.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rdmabench::inline v1 {

enum class Status : std::uint8_t {
  pass,   ///< read, compared, and as it should be
  warn,   ///< works, but not as well as it could, or not as its interface or its peers say
  fail,   ///< does not work, breaks the limit, or loses a large part of the performance
  skip,   ///< was not judged; a reason says why. Never a pass
  open,   ///< was judged, and what was measured or told does not decide. Never a pass
  error,  ///< what was to be judged has another form than its documentation says
};

inline constexpr std::array<std::string_view, 6> kStatusNames{"PASS", "WARN", "FAIL",
                                                              "SKIP", "OPEN", "ERROR"};

/// "PASS", "WARN", ...
constexpr std::string_view name(Status status) noexcept {
  return kStatusNames.at(static_cast<std::size_t>(status));
}

/// A word that is not known is an error, never a pass.
constexpr Status status_of(std::string_view word) noexcept {
  const auto* const found = std::find(kStatusNames.begin(), kStatusNames.end(), word);
  return found == kStatusNames.end() ? Status::error
                                     : static_cast<Status>(found - kStatusNames.begin());
}

}  // namespace rdmabench::inline v1
