#include "decision_texts.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>

namespace rdmabench::inline v1::analysis {
namespace {

/// Whether every argument of a text is one of the other.
constexpr bool takes(std::string_view text, std::string_view other) {
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const std::string_view argument = text.substr(at, text.find('}', at) + 1 - at);
    if (other.find(argument) == std::string_view::npos) return false;
  }
  return !text.empty();
}

#define TEXT(key, english, korean)                                \
  static_assert(takes(english, korean) && takes(korean, english), \
                #key ": a text is missing, or one has an argument that the other lacks");
#include "decision_texts.inc"
#undef TEXT

constexpr TextRow kTexts[] = {
#define TEXT(key, english, korean) {#key, english, korean},
#include "decision_texts.inc"
#undef TEXT
};

}  // namespace

std::span<const TextRow> decision_texts() noexcept {
  return kTexts;
}

std::optional<Text> find_text(std::string name) {
  std::erase(name, ',');
  std::replace(name.begin(), name.end(), ' ', '_');
  for (std::size_t i = 0; i < std::size(kTexts); ++i) {
    if (kTexts[i].key == name) return static_cast<Text>(i);
  }
  return std::nullopt;
}

Phrase phrase(Text key, Language language, std::vector<Value> values) {
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const Value& value : values) {
    arguments.push_back(fmt::arg(value.name.c_str(), value.shown));
  }
  const TextRow& row = kTexts[static_cast<std::size_t>(key)];
  const std::string_view text = language == Language::korean ? row.korean : row.english;
  return {key, fmt::vformat(text, arguments), std::move(values)};
}

}  // namespace rdmabench::inline v1::analysis
