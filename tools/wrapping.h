// Text for people, broken into lines of a terminal's width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rdmabench::tools {

/// Each line that is longer than `width` is broken between words; what follows is indented by two
/// more than the line. A word that is longer stays whole.
std::string wrapped(std::string_view text, std::size_t width);

/// A help text, set anew: lines that begin at the margin are filled up to paragraphs. An indented
/// line stays a line of its own; where it is too long, what follows stands under its explanation,
/// the part after the first gap of two spaces. Lines that already stand there are joined to it.
std::string reflowed(std::string_view text, std::size_t width);

}  // namespace rdmabench::tools
