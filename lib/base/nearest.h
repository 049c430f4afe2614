// "Did you mean ...?"
#pragma once

#include <string>
#include <vector>

namespace rdmabench {

/// The first word that begins with `word`, if that has three characters; else the one that takes
/// the fewest edits to reach (Levenshtein's distance, in which two letters that changed places are
/// one edit). Leading dashes do not count. "" when none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& words);

}  // namespace rdmabench
