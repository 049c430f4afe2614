#include "rdmabench/run/patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/run/worker.h"
#include "run/pattern_table.h"

namespace rdmabench::inline v1::run {
namespace {

struct Pattern {
  PatternNeeds needs;
  std::vector<detail::PatternLoops> loops;
};

/// Entries are never removed, so what find() returns stays.
class Table {
 public:
  void add(std::string_view name, Pattern pattern) {
    const std::lock_guard lock(mutex_);
    if (!patterns_.emplace(name, std::move(pattern)).second) {
      throw Error(Fault::usage, fmt::format("the pattern '{}' is registered already", name));
    }
  }

  const Pattern& find(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    const auto found = patterns_.find(name);
    if (found != patterns_.end()) return found->second;
    std::string known;
    for (const auto& [other, pattern] : patterns_) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", other);
    }
    throw Error(Fault::usage,
                fmt::format("this program has no pattern '{}'", ascii_only(name, 100)),
                known.empty() ? "It has registered none: client and server must both call "
                                "run::add_pattern()."
                              : fmt::format("It has registered {}.", known));
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Pattern, std::less<>> patterns_;
};

Table& table() {
  static Table all;
  return all;
}

/// A part of a name, as the report's schema has it: [a-z0-9][a-z0-9._-]*
bool is_part(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace

void detail::add_pattern(std::string_view name, const PatternNeeds& needs,
                         std::vector<PatternLoops> loops) {
  constexpr std::size_t kMaxPatternName = 100;
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.size() > kMaxPatternName ||
      !is_part(name.substr(0, slash)) || !is_part(name.substr(slash + 1))) {
    throw Error(Fault::usage,
                fmt::format("invalid pattern name '{}'", ascii_only(name, kMaxPatternName)),
                "Write vendor/name in small letters, of at most 100 characters: "
                "example.com/scatter.");
  }
  table().add(name, {needs, std::move(loops)});
}

const PatternNeeds& pattern_needs(std::string_view name) {
  return table().find(name).needs;
}

std::uint64_t least_size(std::string_view name) {
  return name.empty() ? 1 : pattern_needs(name).least_size;
}

std::string operation_text(std::string_view pattern, transport::OperationCode operation) {
  if (pattern.empty()) return std::string(transport::name(operation));
  std::string text;
  for (std::size_t i = 0; i < transport::Operations::kCount; ++i) {
    const auto code = static_cast<transport::OperationCode>(i);
    if (!pattern_needs(pattern).operations.has(code)) continue;
    text += fmt::format("{}{}", text.empty() ? "" : "+", transport::name(code));
  }
  return text;
}

workload::AnyLoop detail::find_pattern(std::string_view name, std::type_index endpoint,
                                       workload::Side side, bool validate) {
  for (const PatternLoops& loops : table().find(name).loops) {
    if (loops.endpoint != endpoint) continue;
    return (side == workload::Side::initiator ? loops.initiator : loops.target)[validate ? 1 : 0];
  }
  throw Error(Fault::usage,
              fmt::format("the pattern '{}' needs operations, or an order of messages, that this "
                          "endpoint does not have",
                          ascii_only(name, 100)),
              "Choose another transport or back end.");
}

}  // namespace rdmabench::inline v1::run
