// Named baselines, kept in a file: what a nightly run is compared with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rdmabench/analysis/comparison.h"
#include "rdmabench/analysis/launch.h"

namespace rdmabench::inline v1::analysis {

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
  BaselineStore& operator=(BaselineStore&&) = delete;

  /// Adds all launches or none. Returns how many were new: a launch that the baseline holds already
  /// is not stored twice. Throws Error(usage) that names a launch of another configuration than
  /// those of the baseline, and what differs; see find_other_configuration(). `allowed` may differ.
  std::size_t add(const std::string& baseline, const std::vector<Launch>& launches,
                  const Factors& allowed = Factors({}));

  /// In the order in which they were stored. Throws Error(usage) that lists the baselines if there
  /// is none of this name.
  std::vector<Launch> load(const std::string& baseline);

  struct Entry {
    std::string name;
    std::uint64_t launches = 0;
    std::string
        first_utc;  ///< when its first launch was stored: "2026-11-21T17:02:05Z"; may be empty
    std::string last_utc;
  };
  std::vector<Entry> list();  ///< by name

  /// Removes the baseline with all its launches, and returns how many these were. Throws as load().
  std::size_t remove(const std::string& baseline);

 private:
  class Database;
  std::unique_ptr<Database> database_;
};

/// How the configuration of `launch` differs from that of `known`: back end, provider, device and
/// transport. For the same test and operation also the requested options, the resolved values and
/// the completion level. Empty if only `allowed` factors differ.
std::vector<Confound> find_other_configuration(const Launch& known, const Launch& launch,
                                               const Factors& allowed);

/// What a baseline holds, for people: each launch with its configuration.
std::string to_table(const std::vector<Launch>& baseline, std::size_t width = report::kUsualWidth);

}  // namespace rdmabench::inline v1::analysis
