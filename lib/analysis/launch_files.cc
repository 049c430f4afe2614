#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <unordered_map>

#include "rdmabench/analysis/launch.h"
#include "rdmabench/base/error.h"

namespace rdmabench::analysis {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargest = std::uintmax_t{256} << 20;

std::string read_file(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > kLargest) {
    throw Error(Fault::usage, fmt::format("{} has {} bytes", path.string(), size),
                "A file of results has at most 256 MiB.");
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf() || size == 0)) {
    throw Error(Fault::usage, fmt::format("cannot read {}", path.string()), {}, errno);
  }
  return text.str();
}

std::vector<fs::path> files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path());
  }
  if (error) throw Error(Fault::usage, fmt::format("cannot list {}", path), {}, error.value());
  if (files.empty()) {
    throw Error(Fault::usage, fmt::format("no *.json in {}", path),
                "Write results there, as 'rdmabench lat --format json --output FILE' does.");
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<Launch> load_launches(const std::vector<std::string>& paths) {
  std::vector<Launch> launches;
  const auto add = [&launches](const std::string& text, const std::string& source) {
    for (Launch& launch : read_launches(text, source)) launches.push_back(std::move(launch));
  };
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].starts_with('{')) {
      add(paths[i], fmt::format("document {}", i + 1));
      continue;
    }
    for (const fs::path& file : files_of(paths[i])) add(read_file(file), file.string());
  }
  refuse_copies(launches, {});
  return launches;
}

void refuse_copies(const std::vector<Launch>& a, const std::vector<Launch>& b) {
  std::unordered_map<std::string_view, const Launch*> seen;
  for (const std::vector<Launch>* side : {&a, &b}) {
    for (const Launch& launch : *side) {
      const auto [other, is_new] = seen.emplace(launch.document, &launch);
      if (is_new) continue;
      throw Error(
          Fault::usage,
          fmt::format("{} and {} are the same launch", other->second->source, launch.source),
          "A copy adds no evidence: give every launch once.");
    }
  }
}

}  // namespace rdmabench::analysis
