// What a text must name (values, a remedy): a better wording of it breaks no test.
#pragma once

#include <gmock/gmock.h>

namespace rdmabench::inline v1 {

/// Matches a text that has each of these.
auto has_all(const auto&... words) {
  return testing::AllOf(testing::HasSubstr(words)...);
}

}  // namespace rdmabench::inline v1
