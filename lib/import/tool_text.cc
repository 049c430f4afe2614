#include "tool_text.h"

#include <algorithm>
#include <unordered_map>

namespace rdmabench::import {

std::string_view beginning_of(std::string_view text) noexcept {
  constexpr std::size_t kFar = std::size_t{1} << 20;
  return text.substr(0, kFar);
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
  constexpr std::array<std::string_view, 4> kLevels{" INFO ", " WARNING ", " ERROR ", " DEBUG "};
  constexpr std::size_t kLongest = 128;
  const std::string_view beginning = line.substr(0, kLongest);
  // Of containerd's files.
  if (line.starts_with("stdout F ") || line.starts_with("stderr F ")) return line.substr(9);
  for (const std::string_view level : kLevels) {
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
    return end > digit && line.substr(end).starts_with(": ") ? end + 1 : 0;
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

}  // namespace

TaggedLine tagged(std::string_view line) noexcept {
  TaggedLine out{.text = line};
  for (std::size_t i = 0; i < TaggedLine::kMost; ++i) {
    // One blank stands between two tags; more of them begin what the tool printed.
    const bool blank = i > 0 && out.text.size() > 1 && out.text[0] == ' ' && out.text[1] != ' ';
    const std::string_view from = out.text.substr(blank ? 1 : 0);
    const std::string_view timeless = without_time(from);
    const std::string_view rest =
        timeless.size() == from.size() ? from.substr(tag_size(from)) : without_origin(timeless);
    if (rest.size() == from.size()) break;
    out.tags[out.count++] = timeless.substr(0, timeless.size() - rest.size());
    out.text = rest;
  }
  return out;
}

std::string_view without_tag(std::string_view line) noexcept {
  return tagged(line).text;
}

namespace {

/// The first `count` tags as one text.
std::string joined_tags(const TaggedLine& line, std::size_t count) {
  std::string key;
  for (std::size_t i = 0; i < count; ++i) key += line.tags[i];
  return key;
}

bool is_heading(std::string_view line) noexcept {
  return (has(line, "#bytes") && has(line, "#iterations")) || has(line, "# Size") ||
         (has(line, "algbw") && has(line, "busbw")) || has(line, "usec/xfer");
}

}  // namespace

std::string without_inner_tags(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const std::string_view line : lines_of(text)) {
    const TaggedLine one = tagged(line);
    std::string tag;
    if (one.count > 0) tag = one.tags[one.count - 1];
    const std::string_view word = trimmed(tag);
    const bool of_rank = !word.empty() && (is_like(word, "[") || is_like(word, "0"));
    if (one.text.starts_with(' ')) tag += ' ';
    std::string_view rest = one.text;
    out += line.substr(0, line.size() - rest.size());
    for (std::size_t at = 0; of_rank && (at = rest.find(tag)) != std::string_view::npos;) {
      out += rest.substr(0, at);
      rest.remove_prefix(at + tag.size());
    }
    out.append(rest).append("\n");
  }
  if (!text.ends_with('\n') && !out.empty()) out.pop_back();
  return out;
}

std::string grouped_by_tag(std::string text) {
  std::unordered_map<std::string, std::size_t> groups;  // by all tags
  std::unordered_map<std::string, std::size_t> first;   // by the first one: the last such group
  const std::vector<std::string_view> lines = lines_of(text);
  for (const std::string_view line : lines) {
    if (!is_heading(line)) continue;
    const TaggedLine one = tagged(line);
    const auto added = groups.emplace(joined_tags(one, one.count), groups.size());
    if (one.count > 0) first[joined_tags(one, 1)] = added.first->second;
  }
  if (groups.size() < 2) return text;
  std::vector<std::string> texts(groups.size());
  std::size_t current = 0;
  for (const std::string_view line : lines) {
    const TaggedLine one = tagged(line);
    // What a tool printed may look like one more tag: "node1: slurmstepd: ". A tag that no table
    // has is of what stands before it, unless the first one tells.
    auto found = groups.find(joined_tags(one, one.count));
    for (std::size_t count = one.count; found == groups.end() && count > 1;) {
      found = groups.find(joined_tags(one, --count));
    }
    if (found == groups.end() && one.count > 0) {
      const auto same = first.find(joined_tags(one, 1));
      if (same != first.end()) current = same->second;
    } else if (found != groups.end()) {
      current = found->second;
    }
    texts[current].append(line).append("\n");
  }
  const bool whole = text.ends_with('\n');
  text.clear();
  for (const std::string& one : texts) text += one;
  if (!whole && !text.empty()) text.pop_back();
  return text;
}

bool is_kill(std::string_view line) noexcept {
  const std::string_view all = trimmed(line);
  if (all == "Terminated" || all == "Killed") return true;
  for (const std::string_view words :
       {"exited on signal", "CANCELLED AT", "DUE TO TIME LIMIT", "MPI_ABORT was invoked",
        "BAD TERMINATION", "EXIT STRING:", "srun: error:", "Segmentation fault"}) {
    if (has(line, words)) return true;
  }
  return false;
}

namespace {

/// Calls `visit` with the place of each bracket of JSON that is in no text.
template <class Visit>
void for_each_bracket(std::string_view text, Visit&& visit) {
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_text = !in_text;
    if (in_text && c == '\\') ++i;
    if (!in_text && (c == '{' || c == '[' || c == '}' || c == ']')) visit(i);
  }
}

bool opens(char bracket) {
  return bracket == '{' || bracket == '[';
}

}  // namespace

std::vector<std::string_view> json_objects(std::string_view text) {
  std::vector<std::string_view> objects;
  std::size_t depth = 0;
  std::size_t begin = 0;
  for_each_bracket(text, [&](std::size_t at) {
    if (opens(text[at])) {
      if (depth++ == 0) begin = at;
    } else if (depth > 0 && --depth == 0) {
      objects.push_back(text.substr(begin, at + 1 - begin));
    }
  });
  if (depth > 0) objects.push_back(text.substr(begin));
  if (objects.empty()) objects.push_back(text);
  return objects;
}

std::string closed_json(std::string_view text) {
  std::string open;  // the brackets that are due
  std::string due;
  std::size_t end = 0;
  for_each_bracket(text, [&](std::size_t at) {
    if (opens(text[at])) {
      open += text[at] == '{' ? '}' : ']';
    } else if (!open.empty() && text[at] == open.back()) {
      open.pop_back();
      end = at + 1;
      due.assign(open.rbegin(), open.rend());
    }
  });
  return std::string(text.substr(0, end)) + due;
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

bool has(std::string_view line, std::string_view part) noexcept {
  return line.find(part) != std::string_view::npos;
}

std::string rest_after(std::string_view line, std::string_view mark) {
  const std::size_t found = line.find(mark);
  if (found == std::string_view::npos) return "";
  line.remove_prefix(found + mark.size());
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t end = line.find_last_not_of(" \r\t");
  return end == std::string_view::npos || end < begin
             ? ""
             : std::string(line.substr(begin, end - begin + 1));
}

}  // namespace rdmabench::import
