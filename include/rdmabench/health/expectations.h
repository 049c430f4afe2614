// What a user, or a site, expects of a node.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "rdmabench/health/finding.h"

namespace rdmabench::inline v1::health {

/// One thing that can be expected.
struct ExpectationKey {
  std::string_view name;
  std::string_view meaning;
  bool number;                                      ///< the value is a whole number
  bool of_device;                                   ///< of RDMA devices or their ports
  bool (*takes)(std::string_view value) = nullptr;  ///< null: any text
};

std::span<const ExpectationKey> expectation_keys();

struct Expectation {
  std::string value;
  Source source = Source::user;
};

/// By key. A value of the user replaces one of the profile.
class Expectations {
 public:
  /// "KEY=VALUE". Throws Error(usage) for an unknown key, which lists the known ones, or a value
  /// that is not a number where one is required.
  void add_user(std::string_view text);

  /// A JSON object of keys and values: {"rate_gbps": 400, "firmware": "28.43.1014"}. A key
  /// "schema" or "comment" is ignored, and "expect", which is for measurements. Throws
  /// Error(usage), which names `origin`.
  void add_profile(std::string_view json, std::string_view origin);

  /// Null where nothing was expected.
  const Expectation* find(std::string_view key) const;

 private:
  void add(std::string_view key, std::string value, Source source);

  std::map<std::string, Expectation, std::less<>> values_;
};

}  // namespace rdmabench::inline v1::health
