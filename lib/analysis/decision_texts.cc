#include "decision_texts.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

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

namespace {

/// A side's name, launches, and those that were not RDMA by what they say.
struct Side {
  std::string name;
  std::size_t launches = 0;
  const std::map<std::string, std::uint32_t>& not_rdma;
};

/// `b` is null where there is one side.
std::string not_rdma_of(const Side& a, const Side* b, Language language) {
  std::map<std::string, std::uint32_t> all = a.not_rdma;
  if (b != nullptr) all.insert(b->not_rdma.begin(), b->not_rdma.end());
  std::string text;
  for (const auto& [what, any] : all) {
    const auto of = [&key = what](const Side& side) {
      const auto found = side.not_rdma.find(key);
      return found == side.not_rdma.end() ? std::size_t{0} : found->second;
    };
    std::vector<Value> values{Shown::text("what", what), Shown::text("a", a.name),
                              Shown::count("without_a", of(a)), Shown::count("all_a", a.launches)};
    if (b != nullptr) {
      values.insert(values.end(), {Shown::text("b", b->name), Shown::count("without_b", of(*b)),
                                   Shown::count("all_b", b->launches)});
    }
    text += text.empty() ? "" : " ";
    text += phrase(b != nullptr ? Text::not_rdma : Text::not_rdma_one, language, values).text;
  }
  return text;
}

Side side_of(const std::string& name, const LinkSamples& samples) {
  return {name, samples.latency.size() + samples.bandwidth.size(), samples.not_rdma};
}

}  // namespace

std::string not_rdma_words(const Comparison& comparison) {
  const Side b{comparison.options.b_name, comparison.b.launches, comparison.b.not_rdma};
  return not_rdma_of({comparison.options.a_name, comparison.a.launches, comparison.a.not_rdma}, &b,
                     Language::english);
}

std::string not_rdma_words(const Projection& projection, Language language) {
  const Side a = side_of(projection.options.a_name, projection.a);
  if (!projection.b) return not_rdma_of(a, nullptr, language);
  const Side b = side_of(projection.options.b_name, *projection.b);
  return not_rdma_of(a, &b, language);
}

}  // namespace rdmabench::inline v1::analysis
