#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "rdmabench/analysis/comparison.h"
#include "rdmabench/base/error.h"

namespace rdmabench::analysis {
namespace {

constexpr std::array<std::string_view, 5> kFailOns{"worse", "different", "inconclusive",
                                                   "confounded", "incomplete"};

}  // namespace

bool Comparison::confounded() const {
  return std::any_of(confounds.begin(), confounds.end(),
                     [](const Confound& confound) { return !confound.declared; });
}

bool Comparison::failed() const {
  const auto is_so = [this](FailOn what) {
    switch (what) {
      case FailOn::worse:
        return direction == Direction::worse || direction == Direction::mixed;
      case FailOn::different:
        return verdict == Verdict::different;
      case FailOn::inconclusive:
        return verdict == Verdict::inconclusive || verdict == Verdict::drifting ||
               verdict == Verdict::refused;
      case FailOn::confounded:
        return confounded();
      case FailOn::incomplete:
        break;
    }
    return !complete();
  };
  return std::any_of(options.fail_on.begin(), options.fail_on.end(), is_so);
}

std::string_view name(FailOn what) noexcept {
  return kFailOns[static_cast<std::size_t>(what)];
}

FailOn parse_fail_on(std::string_view text) {
  const auto found = std::find(kFailOns.begin(), kFailOns.end(), text);
  if (found == kFailOns.end()) {
    throw Error(Fault::usage, fmt::format("unknown condition '{}'", text),
                fmt::format("There are {}.", fmt::join(kFailOns, ", ")));
  }
  return static_cast<FailOn>(found - kFailOns.begin());
}

}  // namespace rdmabench::analysis
