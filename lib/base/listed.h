// The first of many, in a sentence.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

namespace rdmabench::inline v1 {

/// "a, b and 5 more"
template <class List>
std::string listed(const List& items, std::size_t most) {
  const std::size_t shown = std::min(most, items.size());
  const auto end = std::next(items.begin(), static_cast<std::ptrdiff_t>(shown));
  std::string text = fmt::format("{}", fmt::join(items.begin(), end, ", "));
  if (shown < items.size()) text += fmt::format(" and {} more", items.size() - shown);
  return text;
}

}  // namespace rdmabench::inline v1
