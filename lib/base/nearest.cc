#include "base/nearest.h"

#include <algorithm>
#include <numeric>

namespace rdmabench {
namespace {

std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& words) {
  constexpr std::size_t kPrefix = 3;
  if (word.size() >= kPrefix) {  // "--bidi"
    for (const std::string& known : words) {
      if (known.starts_with(word)) return known;
    }
  }
  const std::size_t far = std::min<std::size_t>(4, 2 + word.size() / 4);
  const auto best = std::min_element(words.begin(), words.end(), [&](const auto& a, const auto& b) {
    return distance(word, a) < distance(word, b);
  });
  return best == words.end() || distance(word, *best) >= far ? "" : *best;
}

}  // namespace rdmabench
