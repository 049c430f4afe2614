// What else differs between two sides, besides what is being compared.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "rdmabench/analysis/launch.h"

namespace rdmabench::analysis {

/// A fact that is not alike on both sides.
struct Confound {
  std::string name;   ///< "environment.client.kernel", "config.depth", "details.mtu", "completion"
  std::string where;  ///< "write, bandwidth": of which tests; empty: of all
  std::set<std::string> a;  ///< its values; one that is missing is "(none)"
  std::set<std::string> b;
  bool declared = false;  ///< it belongs to what is being compared
};

/// What a comparison is about: the words of --factor. "backend" takes in all that follows from the
/// choice of a back end (service, provider, device, transport and its details), "provider" and
/// "device" likewise; "all" is everything: the two sides as they stand. Any other word is the last
/// part of a fact's name ("kernel", "mtu") or a whole name.
class Factors {
 public:
  explicit Factors(std::vector<std::string> words) : words_(std::move(words)) {}
  bool declare(const std::string& fact) const;
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

/// Whether a fact says only where or when a launch ran, or names what is new every time, and so is
/// never held against a comparison. The list is in docs/compare.md.
bool is_incidental(const std::string& fact);

/// The facts of launches of one test and operation, and of those rows alone, that have not the same
/// set of values on both sides.
std::vector<Confound> find_confounds(std::span<const Launch* const> a,
                                     std::span<const Launch* const> b, const std::string& operation,
                                     const Factors& factors);

}  // namespace rdmabench::analysis
