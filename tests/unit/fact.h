#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace rdmabench::inline v1 {

/// The text of the fact of that name; "none" where there is none.
std::string fact(const auto& facts, std::string_view wanted) {
  for (const auto& [name, told] : facts) {
    const auto& value = told;  // clang 14 takes no binding in a requires-expression
    if (name != wanted) continue;
    if constexpr (requires { std::get<std::string>(value); }) {
      return std::get<std::string>(value);
    } else {
      return value;
    }
  }
  return "none";
}

}  // namespace rdmabench::inline v1
