// The options of a Config, as one table. The command line and its help, a user's JSON, the request
// to a server, the `config` of a report, the bounds and the names in errors follow from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "rdmabench/results/result.h"
#include "rdmabench/run/config.h"

namespace rdmabench::inline v1::run {

/// Where the value of an option is. Its type says how it is read and written.
using Place =
    std::variant<bool*, std::optional<bool>*, std::uint32_t*, std::optional<std::uint32_t>*,
                 std::int32_t*, std::uint64_t*, std::string*, workload::Shape*,
                 transport::OperationCode*, transport::Service*, memory::GpuMapping*,
                 workload::ArrivalProcess*, std::chrono::nanoseconds*, std::vector<std::string>*,
                 std::vector<std::uint64_t>*, std::vector<Requirement>*>;

enum class Unit : std::uint8_t {
  count,
  bytes,
  limit,  ///< bytes; a larger value is the largest, because the device lowers it further
  milliseconds,
};

/// What may be given. The value where nothing was given lies outside of them in some options.
struct Bounds {
  std::int64_t min = 0;
  std::int64_t max = 0;
  Unit unit = Unit::count;
  std::string_view word = {};  ///< a word for `value`, which lies outside
  std::int32_t value = 0;
};

/// The tests that have an option on the command line.
using TestSet = std::uint8_t;
inline constexpr TestSet kLat = 1, kBw = 2, kLoad = 4, kEveryTest = kLat | kBw | kLoad;

struct Member {
  Place (*in)(Config& config);
  bool of_both;  ///< sides: a request has it; else Config alone
};

struct Option : Member {
  const char* name;       ///< in errors, a user's JSON, a request and a report: "post_list"
  std::string_view flag;  ///< "-l, --post-list=N"; "": no flag sets just this
  std::string_view text;  ///< of the flag, for --help, with the default in brackets
  Bounds bounds = {};
  bool always = false;  ///< a report tells it even where it is at its default
  TestSet tests = kEveryTest;

  /// "--post-list"; "" where there is none.
  std::string_view long_flag() const;
};

/// Options under one heading of --help.
struct OptionGroup {
  std::string_view title;
  std::span<const Option> options;
};

inline constexpr std::string_view kSent = "What is sent", kDuration = "How long",
                                  kQueues = "Queues", kPath = "Path", kMemory = "Memory",
                                  kOther = "Other";

/// All of them, in the order of --help.
std::span<const OptionGroup> option_groups();

/// nullptr where there is none.
const Option* find_option(std::string_view name);

template <class Visit>
void for_each_option(Visit&& visit) {
  for (const OptionGroup& group : option_groups()) {
    for (const Option& option : group.options) visit(option);
  }
}

constexpr const auto& names_of(workload::Shape) {
  return workload::kShapeNames;
}
constexpr const auto& names_of(transport::OperationCode) {
  return transport::kOperationNames;
}
constexpr const auto& names_of(transport::Service) {
  return transport::kServiceNames;
}
constexpr const auto& names_of(memory::GpuMapping) {
  return memory::kGpuMappingNames;
}

constexpr const auto& names_of(workload::ArrivalProcess) {
  return workload::kArrivalProcesses;
}

/// Reads or writes an option, whatever its bounds; `fields` is MessageFields or UserOptions.
template <class Fields, class T>
void walk_option(Fields& fields, const char* name, T& value) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>) {
    fields.flag(name, value);
  } else if constexpr (std::is_same_v<T, std::optional<std::uint32_t>>) {
    fields.optional(name, value, [&](std::uint32_t& given) { fields.number(name, given); });
  } else if constexpr (std::is_enum_v<T>) {
    fields.name(name, names_of(value), value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    fields.text(name, value);
  } else if constexpr (std::is_integral_v<T>) {
    fields.number(name, value);
  }
}

/// By what both sides prove who they are. Throws Error(usage) for several ways at once. `way`:
/// "token", "munge" or "" for none.
control::Authentication authentication_of(const std::string& token_file, std::string_view way,
                                          bool insecure);

/// Throws Error(usage) that names the first option which is out of its bounds.
void check_bounds(const Config& config);

/// What a report says of the options: those that are not at their default, and some always.
void add_facts(report::Facts& facts, const Config& config);

}  // namespace rdmabench::inline v1::run
