// Documents of made-up launches, written by the report room as a run would.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "rdmabench/analysis/launch.h"
#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::analysis {

/// A launch of "write" with a half round trip of these nanoseconds by size; p90 to p99.99 are 1.1,
/// 1.2, 1.3 and 1.4 times that.
report::Report latency_report(const std::map<std::uint64_t, double>& p50_ns, int minute = 0,
                              std::uint64_t samples = 1'000'000);

/// A launch of "write" with these bits per second by size.
report::Report bandwidth_report(const std::map<std::uint64_t, double>& bits_per_s, int minute = 0);

/// As read back from the JSON.
Launch launch_of(const report::Report& report, const std::string& source = "x.json");

/// `count` launches of 64 KiB with `bits_per_s` and log-normal noise, a minute apart from `minute`.
std::vector<Launch> bandwidth_launches(int count, double bits_per_s, double deviation,
                                       std::uint64_t seed, int minute = 0, int step = 1);

struct Sides {
  std::vector<Launch> a;
  std::vector<Launch> b;
};

/// A B A B ...: a minute each.
Sides in_turn(int count, double rate_a, double rate_b, double deviation = 0.005);

/// Changes or adds a fact.
void set_fact(report::Facts& facts, const std::string& name, const std::string& value);

}  // namespace rdmabench::inline v1::analysis
