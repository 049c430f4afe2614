// Standard output and standard error as a person sees them.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace rdmabench::inline v1::tools {

/// Each line that is longer than `width` is broken between words; what follows is indented by two
/// more than the line, or stands below the text behind a label ("remedy    ..."). A word that is
/// longer stays whole, and so does a row of a table of four columns or more, which would lose them.
std::string wrapped(std::string_view text, std::size_t width);

/// A help text, set anew: lines that begin at the margin are filled up to paragraphs. An indented
/// line stays a line of its own; where it is too long, what follows stands under its explanation,
/// the part after the first gap of two spaces. Lines that already stand there are joined to it.
std::string reflowed(std::string_view text, std::size_t width);

/// Columns for what goes to standard output: COLUMNS of the environment, else those of the
/// terminal, kUsualWidth where it is a file or a pipe.
std::size_t output_width();

/// Of a table: output_width(), or all that it needs.
std::size_t table_width(bool wide);

/// A help text, reflowed() to output_width(), at most 100 columns: longer lines are hard to read.
std::string help_for_reading(std::string_view text);

/// A table with its remarks as it goes to standard output: on a terminal long sentences are broken
/// to its width, elsewhere each stays one line, which other programs can search.
std::string for_reading(std::string_view text, const std::string& output);

/// Whether this process is rank 0 of those that a launcher started, or was not started by one.
bool is_first_rank();

/// Whether progress is shown: standard error is a terminal, and this process is rank 0 where a
/// launcher started several.
bool shows_progress();

/// "812 msg/s", "31.2 kmsg/s", "2.496 Mmsg/s".
std::string rate_text(double messages_per_s);

/// "12 s left", "3 min left".
std::string time_text(double seconds);

/// The time that is left when `done` of 1 took `elapsed`, as time_text(); "" where that
/// cannot be known yet.
std::string time_left(double done, std::chrono::nanoseconds elapsed);

/// Writes a line on standard error over the one before, where shows_progress().
void show_progress(std::string_view what, std::string_view left);

void erase_progress();

/// Progress of a job of known steps, which began when this was made.
class Progress {
 public:
  /// "WHAT, 12 s left"; `done` of 1.
  void show(std::string_view what, double done) const;

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace rdmabench::inline v1::tools
