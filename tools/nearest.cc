#include "nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "rdmabench/base/error.h"

namespace rdmabench::tools {
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

/// The words that could have stood where a user's word is not known.
std::vector<std::string> known_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* sub : app.get_subcommands({})) words.push_back(sub->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    for (const std::string& name : option->get_snames()) words.push_back("-" + name);
  }
  return words;
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& words) {
  constexpr std::size_t kFar = 4;
  const auto best = std::min_element(words.begin(), words.end(), [&](const auto& a, const auto& b) {
    return distance(word, a) < distance(word, b);
  });
  return best == words.end() || distance(word, *best) >= kFar ? "" : *best;
}

std::string suggestion(const CLI::App& app, const std::vector<std::string>& more) {
  for (const CLI::App* sub : app.get_subcommands()) {
    if (const std::string deeper = suggestion(*sub); !deeper.empty()) return deeper;
  }
  std::vector<std::string> words = known_words(app);
  words.insert(words.end(), more.begin(), more.end());
  for (const std::string& word : app.remaining()) {
    std::vector<std::string> alike;  // a flag for a flag, a command for a command
    std::copy_if(words.begin(), words.end(), std::back_inserter(alike),
                 [&](const std::string& known) { return (known[0] == '-') == (word[0] == '-'); });
    const std::string found = nearest(word.substr(0, word.find('=')), alike);
    if (!found.empty()) return fmt::format("'{}' is not known. Did you mean {}?", word, found);
  }
  return "";
}

std::string completed(const CLI::App& app, const std::string& word) {
  if (word.size() < 3 || word.rfind("--", 0) != 0) return word;
  const std::size_t end = std::min(word.find('='), word.size());
  const std::string beginning = word.substr(2, end - 2);
  std::vector<std::string> found;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (name == beginning) return word;
      if (name.rfind(beginning, 0) == 0) found.push_back("--" + name);
    }
  }
  if (found.size() > 1) {
    throw Error(Fault::usage, fmt::format("{}: '{}' is not a whole name", app.get_name(), word),
                fmt::format("It may be {}.", fmt::join(found, " or ")));
  }
  return found.empty() ? word : found[0] + word.substr(end);
}

}  // namespace rdmabench::tools
