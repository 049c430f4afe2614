// make_seeds CORPUS: writes the seeds, and a dictionary of the keys and texts in them. To be run
// after a change of what messages hold:
//   ninja -C build/release make_seeds && build/release/tests/fuzz/make_seeds tests/fuzz/corpus
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "seeds.h"

namespace {

namespace fs = std::filesystem;

/// Every key and every text of a document. libFuzzer's syntax: "\"depth\":".
void collect(const nlohmann::json& json, std::set<std::string>& words) {
  for (const auto& item : json.items()) {
    if (json.is_object()) words.insert(nlohmann::json(item.key()).dump() + ":");
    if (item.value().is_structured()) collect(item.value(), words);
    if (item.value().is_string()) words.insert(item.value().dump());
  }
}

std::string quoted(const std::string& word) {
  std::string text = "\"";
  for (const char c : word) text += c == '"' || c == '\\' ? std::string("\\") + c : std::string{c};
  return text + "\"";
}

void write_dictionary(const fs::path& path, const std::vector<rdmabench::fuzz::Seed>& seeds) {
  // Besides the seeds' own words: the edges of JSON's kinds, and a header.
  const auto given = rdmabench::words_of(
      "true false null [] {} -1 0 1e999 0.5 18446744073709551615 18446744073709551616 4294967296 "
      R"(-9223372036854775808 [[[[ "\u0000" "\ud800" RDMB)");
  std::set<std::string> words(given.begin(), given.end());
  for (const auto& seed : seeds) {
    const std::size_t brace = seed.bytes.find('{');
    if (brace == std::string::npos) continue;
    const auto json = nlohmann::json::parse(seed.bytes.substr(brace), nullptr, false);
    if (!json.is_discarded()) collect(json, words);
  }
  std::ofstream file(path);
  for (const std::string& word : words) file << quoted(word) << "\n";
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: make_seeds CORPUS\n", stderr);
    return 2;
  }
  const fs::path corpus(arguments[1]);
  const auto seeds = rdmabench::fuzz::seeds();
  for (const auto& seed : seeds) {
    fs::create_directories(corpus / seed.target);
    std::ofstream(corpus / seed.target / seed.name, std::ios::binary) << seed.bytes;
  }
  write_dictionary(corpus / "dictionary", seeds);
  return 0;
}
