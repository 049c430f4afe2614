// The words of --require, of whatever command.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/run/config.h"

namespace rdmabench::inline v1::run {

struct RequirementWord {
  std::string_view name;
  bool is_named = false;  ///< "name=VALUE"
};

/// Those of a session.
std::vector<RequirementWord> requirement_words();

/// Parses a comma-separated list of these words, as parse_requirements() does of a session's.
std::vector<Requirement> parse_requirements(std::string_view text,
                                            std::span<const RequirementWord> words);

/// As it was given: "device=mlx5_0".
std::string to_text(const Requirement& requirement);

}  // namespace rdmabench::inline v1::run
