#include "wrapping.h"

#include <algorithm>
#include <sstream>

#include "base/text.h"

namespace rdmabench::tools {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kWidestFlag = 48;  // an explanation further right begins on its own line

/// The words of `text` in lines; the first continues `line`, the others begin with `indent`.
std::string fill(std::string line, std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  bool fresh = line.find_first_not_of(' ') == std::string::npos;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (!fresh && line.size() + 1 + word.size() > width) {
      out += line + '\n';
      line.assign(indent, ' ');
      fresh = true;
    }
    const bool gap = !fresh && line.back() != ' ';
    line += (gap ? " " : "") + word;
    fresh = false;
  }
  return out + line + '\n';
}

std::size_t margin_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// Where the part after the first gap of two spaces begins; kNone where there is none.
std::size_t explanation_of(std::string_view line) {
  const std::size_t gap = line.find("  ", margin_of(line));
  return gap == kNone ? kNone : line.find_first_not_of(' ', gap);
}

/// An indented line and what was joined to its explanation.
std::string set_item(std::string_view line, std::size_t width) {
  if (line.size() <= width) return std::string(line) + '\n';
  const std::size_t margin = margin_of(line);
  const std::size_t begin = explanation_of(line);
  if (begin == kNone) {
    const std::size_t indent = margin > kWidestFlag / 2 ? margin : margin + 4;
    return fill(std::string(margin, ' '), line.substr(margin), indent, width);
  }
  if (begin <= kWidestFlag) {
    return fill(std::string(line.substr(0, begin)), line.substr(begin), begin, width);
  }
  const std::string indent(margin + 4, ' ');
  return fill(std::string(margin, ' '), line.substr(margin, begin - margin), indent.size(), width) +
         fill(indent, line.substr(begin), indent.size(), width);
}

/// Whether no line may follow in the same paragraph.
bool ends_paragraph(std::string_view line) {
  return line.ends_with(':') || line.starts_with("Usage:");
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t width) {
  std::string out;
  for (const std::string_view line : lines_of(text)) {
    if (line.size() <= width) {
      out.append(line) += '\n';
      continue;
    }
    const std::size_t margin = margin_of(line);
    out += fill(std::string(margin, ' '), line.substr(margin), margin + 2, width);
  }
  return out;
}

std::string reflowed(std::string_view text, std::size_t width) {
  std::string out;
  std::string paragraph;  // at the margin
  std::string item;       // indented
  const auto flush = [&] {
    if (!paragraph.empty()) out += fill("", paragraph, 0, width);
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

}  // namespace rdmabench::tools
