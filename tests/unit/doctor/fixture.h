// Nodes for tests: the .tree files of tests/fixtures/doctor, with changes. make.py there says what
// is in a line.
#pragma once

#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::health {

inline std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size();
    if (!escape) {
      out += text[i];
    } else {
      out += text[++i] == 'n' ? '\n' : text[i];
    }
  }
  return out;
}

/// "4096 0600": so many bytes, those that are not given zero.
inline std::string bytes_of(std::string_view text) {
  const std::size_t blank = text.find(' ');
  std::string bytes(std::stoul(std::string(text.substr(0, blank))), '\0');
  const std::string digits(blank == std::string_view::npos ? "" : text.substr(blank + 1));
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.at(i / 2) = static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

/// A line of a .tree file, or "-PATH" to take away.
inline void change(MemoryStore& store, const std::string& line) {
  if (line.empty() || line[0] == '#') return;
  const auto split = [&](std::string_view mark, auto use) {
    const std::size_t at = line.find(mark);
    if (at == std::string::npos) return false;
    use(line.substr(0, at), line.substr(at + mark.size()));
    return true;
  };
  if (line[0] == '-') return store.remove(line.substr(1));
  if (split(" -> ", [&](auto path, auto target) { store.add_link(path, target); })) return;
  if (split(":hex ", [&](auto path, auto text) { store.add_file(path, bytes_of(text)); })) return;
  if (split(": ", [&](auto path, auto text) { store.add_file(path, unescaped(text)); })) return;
  if (split(" !EACCES", [&](auto path, auto) { store.add_unreadable(path, EACCES); })) return;
  if (split(" !EIO", [&](auto path, auto) { store.add_unreadable(path, EIO); })) return;
  if (line.back() != '/') throw std::runtime_error(line);
  store.add_folder(line.substr(0, line.size() - 1));
}

inline MemoryStore load(const std::string& name) {
  std::ifstream file(std::string(RDMABENCH_SOURCE_DIR "/tests/fixtures/doctor/") + name + ".tree");
  if (!file) throw std::runtime_error("no fixture " + name);
  MemoryStore store;
  for (std::string line; std::getline(file, line);) change(store, line);
  return store;
}

inline Diagnosis judge(MemoryStore store, const DoctorOptions& options = {}) {
  return diagnose(FileTree(std::make_shared<MemoryStore>(std::move(store))), "test", options);
}

}  // namespace rdmabench::inline v1::health
