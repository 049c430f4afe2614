#include "lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "base/number.h"

namespace rdmabench::inline v1::import {

bool has(std::string_view line, std::string_view part) noexcept {
  return line.find(part) != std::string_view::npos;
}

bool has_any(std::string_view line, std::initializer_list<std::string_view> parts) noexcept {
  return std::any_of(parts.begin(), parts.end(), [&](auto part) { return has(line, part); });
}

std::string_view rest_after(std::string_view line, std::string_view mark) noexcept {
  const std::size_t found = line.find(mark);
  return found == std::string_view::npos ? "" : trimmed(line.substr(found + mark.size()));
}

std::string_view word_after(std::string_view line, std::string_view mark) noexcept {
  const std::string_view rest = rest_after(line, mark);
  return rest.substr(0, rest.find(' '));
}

std::uint64_t number_after(std::string_view line, std::string_view mark) noexcept {
  const std::string_view rest = rest_after(line, mark);
  std::uint64_t value = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return value;
}

std::size_t part_size(std::string_view text) noexcept {
  std::size_t end = 0;  // one pass: a line may be long
  while (end < text.size() && text[end] != '\t' && text.substr(end, 2) != "  ") ++end;
  return end;
}

std::string_view base_name(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);
}

std::string_view beginning_of(std::string_view text) noexcept {
  constexpr std::size_t kFar = std::size_t{1} << 20;
  return text.substr(0, kFar);
}

bool is_kill(std::string_view line) noexcept {
  const std::string_view all = trimmed(line);
  return all == "Terminated" || all == "Killed" ||
         has_any(all, {"exited on signal", "CANCELLED AT", "DUE TO TIME LIMIT",
                       "MPI_ABORT was invoked", "BAD TERMINATION",
                       "EXIT STRING:", "srun: error:", "Segmentation fault", "] Signal: "});
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const Line& line : lines) text.append(line.raw).append(line.whole ? "\n" : "");
  return text;
}

namespace {

/// Whether it begins as `pattern` does, where 0 stands for a digit and a for a letter.
bool is_like(std::string_view line, std::string_view pattern) noexcept {
  const auto alike = [](char c, char like) {
    if (like == '0') return c >= '0' && c <= '9';
    return like == 'a' ? (c | 0x20) >= 'a' && (c | 0x20) <= 'z' : c == like;
  };
  return line.size() >= pattern.size() &&
         std::equal(pattern.begin(), pattern.end(), line.begin(),
                    [alike](char like, char c) { return alike(c, like); });
}

/// After the next blank; "" where there is none.
std::string_view after_word(std::string_view line) noexcept {
  return line.substr(std::min(line.find(' '), line.size() - 1) + 1);
}

/// "INFO ", "INFO: " and "- name - INFO - " of Python's logging, or "node1 slurmstepd[7]: ".
std::string_view without_origin(std::string_view line) noexcept {
  constexpr std::size_t kLongest = 128;
  const std::string_view beginning = line.substr(0, kLongest);
  // Of containerd's files.
  if (line.starts_with("stdout F ") || line.starts_with("stderr F ")) return line.substr(9);
  for (const std::string_view level : {" INFO ", " WARNING ", " ERROR ", " DEBUG "}) {
    const std::string_view word = level.substr(1, level.size() - 2);
    if (line.starts_with(word) && line.size() > word.size()) {
      if (line[word.size()] == ':') return line.substr(word.size() + 1);
      if (line[word.size()] == ' ') return line.substr(word.size());
    }
    const std::size_t at = line.starts_with("- ") ? beginning.find(level) : std::string_view::npos;
    if (at == std::string_view::npos) continue;
    const std::string_view rest = line.substr(at + level.size());
    return rest.starts_with("- ") ? rest.substr(1) : rest;
  }
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos || line.starts_with('#') || line.starts_with(' ')) {
    return line;
  }
  const std::string_view words = line.substr(0, colon);
  return std::count(words.begin(), words.end(), ' ') == 1 ? line.substr(colon + 1) : line;
}

/// Behind a time of day; `line` itself where it begins with none.
std::string_view without_time(std::string_view line) noexcept {
  if (is_like(line, "0000-00-00T00:00:00")) return after_word(line);
  if (is_like(line, "0000-00-00 00:00:00") || is_like(line, "0000/00/00 00:00:00"))
    return after_word(after_word(line));
  if (is_like(line, "aaa 00 00:00:00 ") || is_like(line, "aaa  0 00:00:00 ")) {
    return line.substr(16);
  }
  return line;
}

/// How long a tag is that has no time.
std::size_t tag_size(std::string_view line) noexcept {
  constexpr std::size_t kLongest = 256;
  // These words with a colon are a tool's own.
  constexpr std::array<std::string_view, 5> kOwn{"Error", "error", "Failed", "Warning",
                                                 "VALIDATION"};
  const std::string_view beginning = line.substr(0, kLongest);
  if (line.empty() || line[0] == '#') return 0;
  if (line[0] == ' ') {  // " 0: " of srun -l, which fills up the numbers of its tasks
    const std::size_t digit = line.find_first_not_of(' ');
    const std::size_t end = std::min(line.find_first_not_of("0123456789", digit), line.size());
    if (end > digit && end < line.size()) return line.substr(end).starts_with(": ") ? end + 1 : 0;
    // A page's list indents them: "   [1,0]<stdout>:".
    const std::size_t stream = beginning.find("]<stdout>:");
    return stream < beginning.find(' ', digit) ? stream + 10 : 0;
  }
  if (line[0] == '>') {  // a mail quotes
    const std::size_t end = std::min(line.find_first_not_of('>'), line.size());
    return end == line.size() || line[end] == ' ' ? end : 0;
  }
  for (const std::string_view stream : {"<stdout>:", "<stderr>:"}) {
    const std::size_t at = beginning.find(stream);
    const bool in_row = is_like(line, "0") && has(beginning.substr(0, at), "  ");
    if (at != std::string_view::npos && !in_row) return at + stream.size();
  }
  if (line[0] == '[') {
    const std::size_t end = beginning.find(']');
    if (end == std::string_view::npos || end + 1 >= line.size()) return 0;
    // "[node01:12345] 7 more processes ..." are Open MPI's own words.
    const std::string_view name = line.substr(0, end);
    if (std::count(name.begin(), name.end(), ':') == 1 &&
        parse_number<std::uint64_t>(name.substr(name.find(':') + 1))) {
      return 0;
    }
    if (line[end + 1] == ':') return end + 2;
    return line[end + 1] == ' ' ? end + 1 : 0;
  }
  if (line[0] == '(') {  // "(RayWorker pid=123, ip=10.0.0.1) "
    const std::size_t end = beginning.find(") ");
    return end != std::string_view::npos && has(line.substr(0, end), "pid=") ? end + 1 : 0;
  }
  const std::size_t blank = line.find(' ');
  const std::size_t close = line.find('|');  // "node1|"
  if (close > 0 && close < blank && close < kLongest) return close + 1;
  const std::size_t bar = line.find_first_not_of(' ', std::min(blank, line.size()));
  if (bar != std::string_view::npos && line[bar] == '|') return bar + 1;  // "nccl-1  | "
  const std::size_t colon = beginning.find(": ");
  if (colon == std::string_view::npos || blank < colon) return 0;
  const bool own = std::find(kOwn.begin(), kOwn.end(), line.substr(0, colon)) != kOwn.end();
  return own ? 0 : colon + 1;
}

struct Tags {
  static constexpr std::size_t kMost = 4;     ///< "[pod/main] 2026-07-01T12:00:00Z 0: "
  std::array<std::string_view, kMost> all{};  ///< without times, which each line has of its own
  std::size_t count = 0;
  std::string_view rest{};  ///< of the line

  /// The first `most` as one text.
  std::string joined(std::size_t most) const {
    std::string key;
    for (std::size_t i = 0; i < most; ++i) key += all.at(i);
    return key;
  }
};

Tags tags_of(std::string_view line) noexcept {
  Tags out{.rest = line};
  while (out.count < Tags::kMost) {
    // One blank stands between two tags; more of them begin what the tool printed.
    const bool blank =
        out.count > 0 && out.rest.size() > 1 && out.rest[0] == ' ' && out.rest[1] != ' ';
    const std::string_view from = out.rest.substr(blank ? 1 : 0);
    const std::string_view timeless = without_time(from);
    const std::string_view rest =
        timeless.size() == from.size() ? from.substr(tag_size(from)) : without_origin(timeless);
    if (rest.size() == from.size()) break;
    out.all[out.count++] = timeless.substr(0, timeless.size() - rest.size());
    out.rest = rest;
  }
  return out;
}

/// The line without the tags within it; "" where there are none.
std::string without_inner_tags(std::string_view line) {
  const Tags tags = tags_of(line);
  std::string mark(tags.count == 0 ? "" : tags.all[tags.count - 1]);
  const std::string_view word = trimmed(mark);
  if (!is_like(word, "[") && !is_like(word, "0")) return "";
  std::string_view rest = tags.rest;
  if (rest.starts_with(' ')) mark += ' ';
  if (!has(rest, mark)) return "";
  std::string out(line.substr(0, line.size() - rest.size()));
  for (std::size_t at = 0; (at = rest.find(mark)) != std::string_view::npos;) {
    out += rest.substr(0, at);
    rest.remove_prefix(at + mark.size());
  }
  return out.append(rest);
}

/// The cells of a row of a Markdown table, with blanks for its bars; "" of other lines.
std::string without_bars(std::string_view line) {
  const std::string_view row = trimmed(line);
  if (row.size() < 2 || !row.starts_with('|') || !row.ends_with('|')) return "";
  std::string cells(row);
  std::replace(cells.begin(), cells.end(), '|', ' ');
  return cells;
}

std::string without_colours(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t escape = std::min(text.find("\x1b["), text.size());
    plain += text.substr(0, escape);
    text.remove_prefix(escape);
    if (text.empty()) break;
    const std::size_t end = text.find_first_not_of("0123456789;", 2);
    text.remove_prefix(std::min(end, text.size() - 1) + 1);
  }
  return plain;
}

/// Without the roles of reStructuredText, ":mark:`# size count`", which a page may break into
/// lines: what one holds is a line, and the numbers of the lines stay.
std::string without_roles(std::string text) {
  constexpr std::size_t kLongest = 1024;
  for (std::size_t at = 0; (at = text.find(":`", at)) != std::string::npos;) {
    const std::size_t begin = text.rfind('\n', at) + 1;  // 0 in the first line
    const std::size_t end = text.find('`', at + 2);
    const std::string_view role = trimmed(std::string_view(text).substr(begin, at - begin));
    if (role.size() < 2 || role[0] != ':' || role.find(' ') != std::string_view::npos ||
        end == std::string::npos || end - at > kLongest) {
      at += 2;
      continue;
    }
    std::string held = text.substr(at + 2, end - at - 2);
    const auto broken = static_cast<std::size_t>(std::count(held.begin(), held.end(), '\n'));
    std::replace(held.begin(), held.end(), '\n', ' ');
    const std::size_t line_end = std::min(text.find('\n', end), text.size());
    held += text.substr(end + 1, line_end - end - 1) + std::string(broken, '\n');
    text.replace(begin, line_end - begin, held);
    at = begin + held.size();
  }
  return text;
}

bool is_any_heading(std::string_view line) noexcept {
  return (has(line, "#bytes") && has(line, "iterations")) || has(line, "# Size") ||
         (has(line, "algbw") && has(line, "busbw")) || has(line, "usec/xfer") ||
         (has(line, "#sent") && has(line, "#ack")) ||
         (has(line, "# iterations") && has(line, "overall"));
}

/// With what a script's or a program's comment begins each line, its table's heading among them;
/// "" where the heading stands alone. '#' is also the tools' own.
std::string_view comment_mark(std::string_view heading) noexcept {
  for (const std::string_view mark : {"#", "*", "//"}) {
    const std::string_view rest = heading.substr(std::min(mark.size(), heading.size()));
    if (heading.starts_with(mark) && rest.starts_with(' ') &&
        (mark != "#" || trimmed(rest).starts_with('#') || trimmed(rest).starts_with('|'))) {
      return mark;
    }
  }
  return "";
}

/// False where the line does not begin with the mark.
bool cut_comment(Line& line, std::string_view mark) noexcept {
  if (mark.empty() || !line.text.starts_with(mark)) return false;
  const std::string_view rest = line.text.substr(mark.size());
  if (!rest.empty() && rest[0] != ' ' && rest[0] != '\t') return false;
  if (!trimmed(rest).empty()) line.text = trimmed(rest);
  return true;
}

}  // namespace

std::string_view without_tags(std::string_view line) noexcept {
  return trimmed(tags_of(line).rest);
}

bool any_line(std::string_view text, bool (*is)(const Line&) noexcept) noexcept {
  text = beginning_of(text);
  while (!text.empty()) {
    const std::string_view raw = text.substr(0, text.find('\n'));
    if (is({.raw = raw, .text = without_tags(raw)})) return true;
    text.remove_prefix(std::min(raw.size() + 1, text.size()));
  }
  return false;
}

Scan::Scan(std::string_view text) : plain_(without_roles(without_colours(text))) {
  const std::vector<std::string_view> raws = lines_of(plain_);
  std::string_view comment;
  std::size_t block = 0;
  for (std::size_t i = 0; i < raws.size(); ++i) {
    std::string_view raw = raws[i];
    if (std::string mended = without_inner_tags(raw); !mended.empty()) {
      raw = mended_.emplace_back(std::move(mended));
    }
    if (std::string cells = without_bars(raw); !cells.empty()) {
      raw = mended_.emplace_back(std::move(cells));
    }
    const bool whole = i + 1 < raws.size() || plain_.ends_with('\n');
    Line line{i + 1, whole, raw, without_tags(raw)};
    if (line.text.empty()) continue;
    if (line.text.starts_with("```")) ++block;
    line.block = block;
    if (is_any_heading(line.text)) {
      comment = comment_mark(line.text);
      // What stands above it in the same comment is of its run.
      for (auto above = lines_.rbegin(); above != lines_.rend(); ++above) {
        if (!cut_comment(*above, comment)) break;
      }
    }
    cut_comment(line, comment);
    lines_.push_back(line);
  }
  group_by_tag();
}

void Scan::group_by_tag() {
  std::unordered_map<std::string, std::size_t> groups;  // by all tags
  std::unordered_map<std::string, std::size_t> first;   // by the first one: the last such group
  for (const Line& line : lines_) {
    if (!is_any_heading(line.text)) continue;
    const Tags tags = tags_of(line.raw);
    const auto added = groups.emplace(tags.joined(tags.count), groups.size());
    if (tags.count > 0) first[tags.joined(1)] = added.first->second;
  }
  if (groups.size() < 2) return;
  std::vector<Lines> grouped(groups.size());
  std::size_t current = 0;
  for (const Line& line : lines_) {
    // What a tool printed may look like one more tag: "node1: slurmstepd: ". A tag that no table
    // has is of what stands before it, unless the first one tells.
    const Tags tags = tags_of(line.raw);
    std::size_t count = tags.count;
    auto found = groups.find(tags.joined(count));
    while (found == groups.end() && count > 1) found = groups.find(tags.joined(--count));
    if (found != groups.end()) {
      current = found->second;
    } else if (const auto same = first.find(tags.joined(1)); same != first.end()) {
      current = same->second;
    }
    grouped[current].push_back(line);
  }
  lines_.clear();
  for (const Lines& one : grouped) lines_.insert(lines_.end(), one.begin(), one.end());
}

}  // namespace rdmabench::inline v1::import
