// "Did you mean ...?"
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1 {

/// The first word that begins with `word`, if that has three characters; else the one that takes
/// the fewest edits to reach (Levenshtein's distance, in which two letters that changed places are
/// one edit); else one of three characters at least that `word` begins with. Leading dashes do not
/// count. "" when none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& words);

/// The place of `word` among those of a closed set. Throws Error(usage) that lists them: "unknown
/// WHAT 'sun'. Did you mean sum? There are sum, prod."
std::size_t place_of_word(std::string_view what, std::string_view word,
                          std::span<const std::string_view> words);

/// The value of an enumeration that counts from 0, by its word.
template <class Enum>
Enum value_of_word(std::string_view what, std::string_view word,
                   std::span<const std::string_view> words) {
  return static_cast<Enum>(place_of_word(what, word, words));
}

}  // namespace rdmabench::inline v1
