// Named baselines, kept in a file: what a nightly run is held against.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rdmabench/analysis/launch.h"

namespace rdmabench::analysis {

/// A SQLite database of launches by the name of a baseline. One thread at a time; several processes
/// may use one file, and wait up to 5 seconds for each other.
///
/// Errors: Error(unavailable) in a build without SQLite, Error(usage) for a file that is not such a
/// database or is of a newer version, Error(failed) for what SQLite reports.
class BaselineStore {
 public:
  enum class Open : bool { existing, create };

  /// `create` makes the file where there is none; its directory must exist.
  BaselineStore(const std::string& path, Open open);
  ~BaselineStore();
  BaselineStore(const BaselineStore&) = delete;
  BaselineStore& operator=(const BaselineStore&) = delete;

  /// Adds all launches or none. Returns how many were new: a launch that the baseline holds already
  /// is not stored twice.
  std::size_t add(const std::string& baseline, const std::vector<Launch>& launches);

  /// In the order in which they were stored. Throws Error(usage) that lists the baselines if there
  /// is none of this name.
  std::vector<Launch> load(const std::string& baseline);

  struct Entry {
    std::string name;
    std::uint64_t launches = 0;
  };
  std::vector<Entry> list();  ///< by name

 private:
  class Database;
  std::unique_ptr<Database> database_;
};

}  // namespace rdmabench::analysis
