// A topology while the texts of its files are added to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rdmabench/fabric/matrix.h"

namespace rdmabench::inline v1::fabric {

inline constexpr std::size_t kMostParts = 1'000'000;  // points, and links

class TopologyDraft {
 public:
  std::string file;                ///< that is being read: its name
  std::vector<std::string> lines;  ///< its own, without blanks around them
  std::size_t at = 0;              ///< the line that an error names

  /// Throws Error(usage) that names the file and the line. `what` may quote a line of thousands of
  /// characters.
  [[noreturn]] void refuse(const std::string& what) const;

  /// lines[at]; refuses one that is no text, or too long.
  const std::string& line() const;

  /// The point of that key, which is added where there is none. Where others have its name it gets
  /// the next one of `longer`.
  std::uint32_t point(const std::string& key, const std::string& name, bool host,
                      std::vector<std::string> longer = {});
  std::optional<std::uint32_t> find(const std::string& key) const;
  const TopologyPoint& operator[](std::uint32_t point) const { return out_.points[point]; }

  /// Which link it is. Both sides may tell of it.
  std::uint32_t link(std::uint32_t a, const std::string& a_port, std::uint32_t b,
                     const std::string& b_port);
  /// The link over which packets from a switch to a host leave.
  void forward(std::uint32_t from, std::uint32_t to, std::uint32_t link);

  Topology take();

 private:
  Topology out_;
  std::map<std::string, std::uint32_t> by_key_;
  std::map<std::uint32_t, std::vector<std::string>> longer_;  // by point
  std::map<std::string, std::uint32_t> seen_links_;
};

}  // namespace rdmabench::inline v1::fabric
