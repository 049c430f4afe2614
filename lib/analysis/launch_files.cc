#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "base/file.h"
#include "base/refuse.h"
#include "rdmabench/analysis/launch.h"
#include "rdmabench/base/error.h"
#include "rdmabench/report/documents.h"

namespace rdmabench::inline v1::analysis {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{256} << 20;

using Parts = std::vector<std::string>;

/// Of a path without the end of its name.
Parts parts_of(const std::string& path) {
  fs::path clean = fs::path(path).lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();  // "ib/"
  if (clean.extension() == ".json") clean.replace_extension();
  Parts parts;
  for (const fs::path& part : clean) parts.push_back(part.string());
  return parts;
}

/// What all paths of a side begin with: their folders, and of the next part the letters before a
/// number ("ib-1", "ib-2": "ib").
Parts common_beginning(const std::vector<std::string>& paths) {
  Parts common = parts_of(paths.at(0));
  for (const std::string& path : paths) {
    const Parts other = parts_of(path);
    const auto [end, same_end] =
        std::mismatch(common.begin(), common.end(), other.begin(), other.end());
    if (end == common.end() && same_end == other.end()) continue;
    std::string letters;
    if (end != common.end() && same_end != other.end()) {
      letters.assign(
          end->begin(),
          std::mismatch(end->begin(), end->end(), same_end->begin(), same_end->end()).first);
    }
    letters.erase(letters.find_last_not_of("-_.0123456789") + 1);
    common.erase(end, common.end());
    if (!letters.empty()) common.push_back(letters);
  }
  return common;
}

std::string joined(const Parts& parts) {
  fs::path path;
  for (const std::string& part : parts) path /= part;
  return path.string();
}

bool are_texts(const std::vector<std::string>& paths) {
  return paths.empty() || std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
           return path.starts_with('{');
         });
}

}  // namespace

std::pair<std::string, std::string> side_names(const std::vector<std::string>& a,
                                               const std::vector<std::string>& b) {
  if (are_texts(a)) return {"A", "B"};
  const Parts all_a = common_beginning(a);
  if (b.empty() && !all_a.empty()) return {all_a.back(), "B"};
  if (are_texts(b)) return {"A", "B"};
  const Parts all_b = common_beginning(b);
  const auto begin = std::mismatch(all_a.begin(), all_a.end(), all_b.begin(), all_b.end());
  Parts of_a(begin.first, all_a.end());
  Parts of_b(begin.second, all_b.end());
  while (of_a.size() > 1 && of_b.size() > 1 && of_a.back() == of_b.back()) {
    of_a.pop_back();
    of_b.pop_back();
  }
  std::pair<std::string, std::string> names{joined(of_a), joined(of_b)};
  if (names.first.empty() || names.second.empty()) names = {joined(all_a), joined(all_b)};
  if (names.first.empty() || names.second.empty() || names.first == names.second) {
    return {"A", "B"};
  }
  return names;
}

std::vector<Launch> load_launches(const std::vector<std::string>& paths, const std::string& program,
                                  std::vector<std::string>* left_out) {
  std::vector<Launch> launches;
  const auto add = [&](const std::string& text, const std::string& source) {
    for (Launch& launch : read_launches(text, source, program))
      launches.push_back(std::move(launch));
  };
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].starts_with('{')) {
      add(paths[i], fmt::format("document {}", i + 1));
      continue;
    }
    const std::size_t before = launches.size();
    std::string first;  // why a file was left out
    for (const std::string& file : report::document_files(paths[i], {".json"})) {
      try {
        add(read_document(file, kMostBytes), file);
      } catch (const Error& error) {
        if (left_out == nullptr || file == paths[i] || error.fault() != Fault::usage) throw;
        left_out->emplace_back(error.what());
        if (first.empty()) first = error.what();
      }
    }
    refuse_if(launches.size() == before && !first.empty(), first,
              fmt::format("'{}' has no file that could be read.", paths[i]));
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

}  // namespace rdmabench::inline v1::analysis
