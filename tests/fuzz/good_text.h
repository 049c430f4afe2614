// The rule for every error that bytes from a peer may cause.
#pragma once

#include <algorithm>
#include <string_view>

namespace rdmabench::inline v1::fuzz {

/// One printable line that says something: it may end on a terminal or in a log.
inline bool is_good_text(std::string_view text) {
  return !text.empty() && text.size() < 700 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// Whether a terminal would take a byte of it for an order: C0, DEL, and C1 as UTF-8 has it. Lines
/// end in LF, or in CR LF as CSV has it.
inline bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : ' ');
    if (byte == '\r' && next == '\n') continue;
    if ((byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7f) return true;
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) return true;
  }
  return false;
}

}  // namespace rdmabench::inline v1::fuzz
