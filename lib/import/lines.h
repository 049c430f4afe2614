// Lines of what other tools printed, behind what launchers put before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace rdmabench::inline v1::import {

/// "[1,0]<stdout>:" of Open MPI, "0: " of srun -l, "node1: " of pdsh, "[pod/name/main] " of
/// kubectl, "nccl-1  | " of docker compose, "node1|", "(Worker pid=1) " of Ray and SkyPilot, "> "
/// of a mail, a time as of RFC 3339, syslog or Python's logging, with the host and program or the
/// level behind it, and several of these are cut off.
struct Line {
  std::size_t number = 0;   ///< in the file, from 1
  bool whole = true;        ///< false of a file's last one whose end was not written
  std::string_view raw{};   ///< with its tags
  std::string_view text{};  ///< behind them, without blanks around it; not empty
  std::size_t block = 0;    ///< how many of Markdown's fences stand before it

  /// Between two blocks: what people write.
  bool is_prose() const { return block > 0 && block % 2 == 0; }
};
using Lines = std::vector<Line>;
std::string_view without_tags(std::string_view line) noexcept;

/// A text in lines, which are views of it, without those that are blank.
///
/// Colours of a terminal are cut off (ECMA-48, "select graphic rendition"), and so are tags that
/// stand within a line again: Hydra's `mpiexec -prepend-rank` and Open MPI's `--tag-output` put
/// them before all that a program writes at once, and nccl-tests writes a row in parts:
/// "[0]  8  2  float  sum  -1[0]  10.5". So are the marks of a comment that holds a table ("# ", "*
/// ",
/// "// "), the bars of a table in Markdown, and the roles of reStructuredText around a line. Where
/// several tags have a table, the lines of each tag stand together: they were printed at the same
/// time. Other lines stay behind the one before them.
class Scan {
 public:
  explicit Scan(std::string_view text);
  Scan& operator=(Scan&&) = delete;

  const Lines& lines() const { return lines_; }

 private:
  void group_by_tag();

  std::string plain_;
  std::deque<std::string> mended_;  ///< lines that had tags within them
  Lines lines_;
};

/// As they stood in the file, one behind the other.
std::string joined(const Lines& lines);

/// Of a text what tells whose it is: launchers and libraries may speak first.
std::string_view beginning_of(std::string_view text) noexcept;

/// Whether `is` holds for a line of the text's beginning.
bool any_line(std::string_view text, bool (*is)(const Line&) noexcept) noexcept;

/// Whether a shell, mpirun or a scheduler says in this line that it ended a program.
bool is_kill(std::string_view line) noexcept;

// Parts of a line.

bool has(std::string_view line, std::string_view part) noexcept;
bool has_any(std::string_view line, std::initializer_list<std::string_view> parts) noexcept;

/// What stands after `mark`, without blanks around it; "" where there is no mark.
std::string_view rest_after(std::string_view line, std::string_view mark) noexcept;

/// The first word of that, and the whole number that it begins with, or 0.
std::string_view word_after(std::string_view line, std::string_view mark) noexcept;
std::uint64_t number_after(std::string_view line, std::string_view mark) noexcept;

/// Up to a tab or two blanks.
std::size_t part_size(std::string_view text) noexcept;

/// Without its folder.
std::string_view base_name(std::string_view path) noexcept;

}  // namespace rdmabench::inline v1::import
