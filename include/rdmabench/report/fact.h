// A named fact: how a run says what it used and where it ran.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace rdmabench::report {

/// One fact. Where the value has a unit the name ends in it: "memlock_limit_bytes", "duration_s".
/// Names are snake_case. A peer's facts may hold any bytes: every writer makes them harmless.
struct Fact {
  std::string name;
  std::variant<std::string, double, std::uint64_t, bool> value;
};

/// In the order in which they are written. Names do not repeat.
using Facts = std::vector<Fact>;

/// Where the two sides ran. Never the process environment, which may hold secrets.
struct Environment {
  Facts client;
  Facts server;  ///< empty where both sides are one process, or the server did not tell
};

}  // namespace rdmabench::report
