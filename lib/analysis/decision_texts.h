// The texts of a decision's page in each language, and how its numbers are shown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/decision.h"

namespace rdmabench::inline v1::analysis {

/// The keys of decision_texts.inc.
enum class Text : std::uint8_t {
#define TEXT(key, english, korean) key,
#include "decision_texts.inc"
#undef TEXT
};

/// Texts with named arguments, as {fmt} takes them.
struct TextRow {
  std::string_view key;
  std::string_view english;
  std::string_view korean;
};

/// By the number of the key.
std::span<const TextRow> decision_texts() noexcept;

/// The key of what other parts of the program have a word for: "cause_noise". Blanks in it count as
/// underscores, and commas do not count.
std::optional<Text> find_text(std::string name);

/// What stands in a text, and where it comes from.
struct Value {
  std::string name;
  std::variant<double, std::string> raw;  ///< in the unit of the JSON: seconds, ratios
  std::string shown;
};

/// A sentence, or a part of a table, with the values in it.
struct Phrase {
  Text key;
  std::string text;
  std::vector<Value> values;
};

/// Throws fmt::format_error for a text that takes another value.
Phrase phrase(Text key, Language language, std::vector<Value> values = {});

/// "NOT RDMA: measured over ofi, provider tcp, device eth0, ...: 5 of 5 launches of ib and 0 of 5
/// of eth.", a sentence for each text that launches have; "" where all were RDMA.
std::string not_rdma_words(const Comparison& comparison);
std::string not_rdma_words(const Projection& projection, Language language = Language::english);

/// Makes the values of one language.
class Shown {
 public:
  explicit Shown(Language language, std::string currency = {})
      : language_(language), currency_(std::move(currency)) {}

  Phrase say(Text key, std::vector<Value> values = {}) const {
    return phrase(key, language_, std::move(values));
  }

  static Value text(std::string name, const std::string& text);
  static Value number(std::string name, double value);  ///< "1,234" or three digits
  static Value count(std::string name, std::size_t value) {
    return number(std::move(name), static_cast<double>(value));
  }
  Value money(std::string name,
              double value) const;  ///< "1,234 USD", "$1.40", or without a currency
  Value quantity(std::string name, double value) const;             ///< "8 billion"
  static Value bytes(std::string name, double value);               ///< "25 MiB"
  static Value percent(std::string name, double share);             ///< of 0.096: "9.6"
  static Value change(std::string name, double share);              ///< with its sign: "-9.6"
  Value time(std::string name, double seconds, double like) const;  ///< in the unit of `like`
  Value time(std::string name, double seconds) const {              ///< "1.21 s"
    return time(std::move(name), seconds, seconds);
  }
  /// Without its unit, which is that of `like`: for a range behind a time.
  static Value time_like(std::string name, double seconds, double like);
  /// As the value of an assumption: "60 %", "4", "32 MiB", "989 TFLOP/s".
  Value assumption(std::string name, std::string_view assumption, double value) const;

 private:
  Language language_;
  std::string currency_;
};

/// Three digits that count, and commas between thousands.
std::string digits(double value);

}  // namespace rdmabench::inline v1::analysis
