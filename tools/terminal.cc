#include "terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/number.h"
#include "base/text.h"
#include "control/launch.h"
#include "results/number_column.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::tools {
namespace {

constexpr std::size_t kNarrowest = 40;  // a narrower terminal breaks the lines by itself
constexpr const char* kEraseLine = "\r\033[K";

std::size_t columns_of(int stream) {
  winsize size{};
  return isatty(stream) != 0 && ioctl(stream, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kWidestLabel = 20;  // what follows text behind it stands below the text
constexpr std::size_t kWidestFlag = 48;   // an explanation further right begins on its own line

std::size_t margin_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// Where the part after the first gap of two spaces begins; kNone where there is none.
std::size_t explanation_of(std::string_view line) {
  const std::size_t gap = line.find("  ", margin_of(line));
  return gap == kNone ? kNone : line.find_first_not_of(' ', gap);
}

/// Where the part after the last gap begins: words before it are labels, whose columns stay.
std::size_t text_of_line(std::string_view line) {
  const std::size_t gap = line.rfind("  ");
  return gap == kNone || gap < margin_of(line) ? margin_of(line) : gap + 2;
}

/// Whether the line is of a table, of four columns or more: it has three gaps of two spaces.
bool is_row(std::string_view line) {
  constexpr int kLeastGaps = 3;
  int gaps = 0;
  for (std::size_t at = explanation_of(line); at != kNone; at = explanation_of(line)) {
    if (++gaps == kLeastGaps) return true;
    line.remove_prefix(at);
  }
  return false;
}

/// An indented line and what was joined to its explanation.
std::string set_item(std::string_view line, std::size_t width) {
  if (line.size() <= width) return std::string(line) + '\n';
  const std::size_t margin = margin_of(line);
  const std::size_t begin = explanation_of(line);
  if (begin == kNone) {
    const std::size_t indent = margin > kWidestFlag / 2 ? margin : margin + 4;
    return report::filled(std::string(margin, ' '), line.substr(margin), indent, width);
  }
  if (begin <= kWidestFlag) {
    return report::filled(std::string(line.substr(0, begin)), line.substr(begin), begin, width);
  }
  const std::string indent(margin + 4, ' ');
  return report::filled(std::string(margin, ' '), line.substr(margin, begin - margin),
                        indent.size(), width) +
         report::filled(indent, line.substr(begin), indent.size(), width);
}

/// Whether no line may follow in the same paragraph.
bool ends_paragraph(std::string_view line) {
  return line.ends_with(':') || line.starts_with("Usage:");
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t width) {
  std::string out;
  for (const std::string_view line : lines_of(text)) {
    if (line.size() <= width || is_row(line)) {
      out.append(line) += '\n';
      continue;
    }
    const std::size_t margin = margin_of(line);
    std::size_t begin = text_of_line(line);
    if (begin > width / 2) begin = margin;
    const bool is_label = begin > margin && begin <= kWidestLabel;
    out += report::filled(std::string(line.substr(0, begin)), line.substr(begin),
                          is_label ? begin : margin + 2, width);
  }
  return out;
}

std::string reflowed(std::string_view text, std::size_t width) {
  std::string out;
  std::string paragraph;  // at the margin
  std::string item;       // indented
  const auto flush = [&] {
    if (!paragraph.empty()) out += report::filled("", paragraph, 0, width);
    if (!item.empty()) out += set_item(item, width);
    paragraph.clear();
    item.clear();
  };
  for (const std::string_view line : lines_of(text)) {
    if (margin_of(line) == line.size()) {
      flush();
      out += '\n';
    } else if (line.front() != ' ') {
      if (!item.empty() || ends_paragraph(paragraph) || line.starts_with("Usage:")) flush();
      paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
    } else if (!item.empty() && margin_of(line) == explanation_of(item)) {
      item += ' ' + std::string(line.substr(margin_of(line)));
    } else {
      flush();
      item = line;
    }
  }
  flush();
  return out;
}

std::size_t output_width() {
  const char* const wanted = std::getenv("COLUMNS");
  const auto told = parse_number<std::size_t>(wanted == nullptr ? "" : wanted);
  const std::size_t columns = told ? *told : columns_of(STDOUT_FILENO);
  return columns == 0 ? report::kUsualWidth : std::max(columns, kNarrowest);
}

std::size_t table_width(bool wide) {
  return wide ? report::kAnyWidth : output_width();
}

std::string for_reading(std::string_view text, const std::string& output) {
  if (!output.empty() || columns_of(STDOUT_FILENO) == 0) return std::string(text);
  return wrapped(text, output_width());
}

std::string help_for_reading(std::string_view text) {
  constexpr std::size_t kWidest = 100;
  return reflowed(text, std::min(output_width(), kWidest));
}

bool is_first_rank() {
  for (const control::Launcher& launcher : control::launchers()) {
    for (const char* const name : {launcher.of_job ? "PMIX_RANK" : launcher.rank, launcher.rank}) {
      const char* const value = std::getenv(name);
      if (value != nullptr && *value != '\0') return std::string_view(value) == "0";
    }
  }
  return true;
}

std::string rate_text(double messages_per_s) {
  const std::string amount = report::amount_text(messages_per_s);
  return amount + (amount.find(' ') == std::string::npos ? " msg/s" : "msg/s");
}

bool shows_progress() {
  static const bool shown = isatty(STDERR_FILENO) != 0 && is_first_rank();
  return shown;
}

std::string time_text(double seconds) {
  constexpr double kMinute = 60;
  const double left = std::max(0.0, seconds);
  return left < 2 * kMinute ? fmt::format("{:.0f} s left", std::ceil(left))
                            : fmt::format("{:.0f} min left", std::ceil(left / kMinute));
}

std::string time_left(double done, std::chrono::nanoseconds elapsed) {
  constexpr double kLeast = 0.01;  // before, the guess is worth nothing
  if (!(done >= kLeast) || elapsed.count() <= 0) return "";
  const double total = std::chrono::duration<double>(elapsed).count() / done;
  return time_text(total * (1 - done));
}

void show_progress(std::string_view what, std::string_view left) {
  if (!shows_progress()) return;
  std::string line(what);
  if (!left.empty()) line += fmt::format(", {}", left);
  const std::size_t columns = columns_of(STDERR_FILENO);
  if (columns > 1 && line.size() >= columns) line.resize(columns - 1);  // or it cannot be erased
  std::fputs(fmt::format("{}{}", kEraseLine, line).c_str(), stderr);
}

void erase_progress() {
  if (shows_progress()) std::fputs(kEraseLine, stderr);
}

void Progress::show(std::string_view what, double done) const {
  show_progress(what, time_left(done, std::chrono::steady_clock::now() - begin_));
}

}  // namespace rdmabench::inline v1::tools
