// "Did you mean ...?"
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace rdmabench::tools {

/// The word that takes the fewest edits to reach (Levenshtein's distance); "" when none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& words);

/// What a command line that `app` or its subcommand refused may have meant: "'--sise' is not known.
/// Did you mean --size?"; "" when nothing is near. `more` are words that could stand there too.
std::string suggestion(const CLI::App& app, const std::vector<std::string>& more = {});

/// A long name that only one option of `app` begins with stands for that option: "--iter=5" becomes
/// "--iters=5"; any other word stays. Throws Error(usage) when several begin with it.
std::string completed(const CLI::App& app, const std::string& word);

}  // namespace rdmabench::tools
