#include "base/nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {
namespace {

/// Edits that make `b` of `a`: a letter more, less or another, or two that changed places.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  std::vector<std::size_t> before;  // the row above
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const std::vector<std::size_t> two_before = std::exchange(before, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, before[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_before[j - 2] + 1);
      }
    }
  }
  return row.back();
}

/// Without the dashes of a flag, which all flags have alike.
std::string_view plain(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& words) {
  constexpr std::size_t kPrefix = 3;
  if (word.size() >= kPrefix) {  // "--bidi"
    for (const std::string& known : words) {
      if (known.starts_with(word)) return known;
    }
  }
  const std::string_view letters = plain(word);
  const std::size_t far = std::min<std::size_t>(4, 2 + (letters.size() - !letters.empty()) / 4);
  const auto best = std::min_element(words.begin(), words.end(), [&](const auto& a, const auto& b) {
    return distance(letters, plain(a)) < distance(letters, plain(b));
  });
  if (best != words.end() && distance(letters, plain(*best)) < far) return *best;
  const auto whole = std::find_if(words.begin(), words.end(), [&](const std::string& known) {
    return plain(known).size() >= kPrefix && letters.starts_with(plain(known));  // "latency"
  });
  return whole == words.end() ? "" : *whole;
}

std::size_t place_of_word(std::string_view what, std::string_view word,
                          std::span<const std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::string near = nearest(lower(word), {words.begin(), words.end()});
  throw Error(
      Fault::usage, fmt::format("unknown {} '{}'", what, ascii_only(word, 60)),
      fmt::format("{}There are {}.", near.empty() ? "" : fmt::format("Did you mean {}? ", near),
                  fmt::join(words, ", ")));
}

}  // namespace rdmabench::inline v1
