// Text as a terminal shows it: how wide it is, and its words in lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rdmabench::inline v1::report {

/// Columns on a terminal: Korean, Chinese and Japanese characters take two, combining marks none.
std::size_t display_width(std::string_view text) noexcept;

std::size_t widest_line(std::string_view text) noexcept;

/// The words of `text` in lines, each with its end: the first continues `line`, the others begin
/// with `indent` blanks. A word that is wider than `width` stays whole, and a % with its number.
std::string filled(std::string line, std::string_view text, std::size_t indent, std::size_t width);

}  // namespace rdmabench::inline v1::report
