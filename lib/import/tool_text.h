// Reading what other tools printed.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.h"
#include "base/text.h"

namespace rdmabench::import {

/// Of a text what tells whose it is: launchers and libraries may speak first.
std::string_view beginning_of(std::string_view text) noexcept;

/// A line behind what launchers put before it: "[1,0]<stdout>:" of Open MPI, "0: " of srun -l,
/// "node1: " of pdsh, "[pod/name/main] " of kubectl, "nccl-1  | " of docker compose, "node1|",
/// "(Worker pid=1) " of Ray and SkyPilot, "> " of a mail, a time as of RFC 3339, syslog or Python's
/// logging, with the host and program or the level behind it, and several of these.
struct TaggedLine {
  static constexpr std::size_t kMost = 4;      ///< "[pod/main] 2026-07-01T12:00:00Z 0: "
  std::array<std::string_view, kMost> tags{};  ///< without times, which each line has of its own
  std::size_t count = 0;
  std::string_view text{};
};
TaggedLine tagged(std::string_view line) noexcept;
std::string_view without_tag(std::string_view line) noexcept;

/// Without the tags that stand within a line again: Hydra's `mpiexec -prepend-rank` and Open MPI's
/// `--tag-output` put them before all that a program writes at once, and nccl-tests writes a row in
/// parts. "[0]  8  2  float  sum  -1[0]  10.5".
std::string without_inner_tags(std::string_view text);

/// Where several tags have a table, the lines of each tag together: they were printed at the same
/// time. Other lines stay behind the one before them.
std::string grouped_by_tag(std::string text);

/// Whether a shell, mpirun or a scheduler says in this line that it ended a program.
bool is_kill(std::string_view line) noexcept;

inline constexpr std::size_t kMostKeys = 256;  ///< of one object of JSON

/// The objects of JSON that stand one behind the other; the last one may be cut off. All of the
/// text where there is none.
std::vector<std::string_view> json_objects(std::string_view text);

/// JSON that was cut off, up to its last whole list or object, and closed.
std::string closed_json(std::string_view text);

/// Without the terminal's colours (ECMA-48, "select graphic rendition").
std::string without_colours(std::string_view text);

bool has(std::string_view line, std::string_view part) noexcept;

/// What stands after `mark`, without blanks around it; "" where there is no mark.
std::string rest_after(std::string_view line, std::string_view mark);

}  // namespace rdmabench::import
