// The options of a command, as its --help groups them, alike with every release of CLI11.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "flags/values.h"

namespace rdmabench::inline v1::tools {

inline constexpr const char* kCommonGroup = "Options";  ///< of options without another group
inline constexpr const char* kCommandGroup = "Subcommands";

/// Gives an application this help, and its options and those of its subcommands kCommonGroup:
/// before any is added.
void set_help(CLI::App& app);

/// From here on --help shows only the options `common`, those that the command has, and --help-all
/// all of them: after the last is added.
void shorten_help(CLI::App& app, std::initializer_list<const char*> common);

/// Adds options to one group, each as a row: how it is written, what it sets, its help, and what
/// may be given. What they set has to outlive the application.
class OptionGroup {
 public:
  explicit OptionGroup(CLI::App& app, std::string title = kCommonGroup)
      : app_(app), title_(std::move(title)) {}

  /// A bool becomes the opposite of what it is; a text, or texts, are taken as they stand; anything
  /// else is read by set_value().
  template <class T>
  CLI::Option* add(const Spelling& row, T& value, const std::string& help,
                   const run::Bounds& bounds = {}) const {
    if constexpr (std::is_same_v<T, bool>) {
      return call(row, help, [&value, to = !value](const Given& /*given*/) { value = to; });
    } else if constexpr (std::is_same_v<T, std::string> ||
                         std::is_same_v<T, std::vector<std::string>>) {
      return typed(app_.add_option(names_of(row), value, help), row);
    } else {
      return call(row, help,
                  [&value, bounds](const Given& given) { set_value(value, given, bounds); });
    }
  }
  /// What `parse` makes of the text.
  template <class T, std::invocable<const std::string&> Parse>
  CLI::Option* add(const Spelling& row, T& value, const std::string& help, Parse parse) const {
    return call(row, help, [&value, parse](const Given& given) {
      value = named(given, [&] { return parse(given.text); });
    });
  }
  /// One of `words`.
  CLI::Option* add(const Spelling& row, std::string& value, const std::string& help,
                   const std::vector<std::string>& words) const {
    return add(row, value, help)->check(CLI::IsMember(words));
  }
  /// One of `words`, for what stands beside it.
  template <class T, class V>
  CLI::Option* choice(const Spelling& row, T& value, const std::string& help,
                      const std::vector<std::pair<std::string, V>>& words) const {
    const auto set = [&value, words](const Given& given) {
      for (const auto& [word, one] : words) {
        if (word == given.text) value = one;
      }
    };
    return call(row, help, set)->check(CLI::IsMember(words));
  }
  /// An enumeration that counts from 0, by the word that stands in its place.
  template <class T>
  CLI::Option* add(const Spelling& row, T& value, const std::string& help,
                   std::span<const std::string_view> words) const {
    return call(row, help, [&value, words](const Given& given) { set_word(value, given, words); })
        ->check(CLI::Validator(fmt::format("{{{}}}", fmt::join(words, ","))));  // told, not checked
  }
  /// Several, separated by commas; the option may be repeated too. Every list of names is one; what
  /// may hold a comma itself (files, limits, expectations) is a list of words.
  template <class T>
  CLI::Option* list(const Spelling& row, std::vector<T>& value, const std::string& help) const {
    return typed(app_.add_option(names_of(row), value, help), row)->delimiter(',');
  }
  /// Calls set(const Given&).
  template <class Set>
  CLI::Option* call(const Spelling& row, const std::string& help, Set set) const {
    const std::string name = row.long_name();
    if (row.takes == Value::none) {
      const auto act = [set, name] { set(Given{name, ""}); };
      return app_.add_flag_callback(names_of(row), act, help)->group(title_);
    }
    const auto read = [set, name](const std::string& text) { set(Given{name, text}); };
    return typed(app_.add_option_function<std::string>(names_of(row), read, help), row);
  }
  /// Calls set(const std::vector<std::string>&) with all that was given.
  template <class Set>
  CLI::Option* texts(const Spelling& row, const std::string& help, Set set) const {
    return typed(app_.add_option_function<std::vector<std::string>>(names_of(row), set, help), row);
  }
  /// What stands without a flag; `type` is its name for a value in the help.
  template <class T>
  CLI::Option* operand(const std::string& name, T& value, const std::string& help,
                       const std::string& type = "") const {
    return app_.add_option(name, value, help)->type_name(type)->group(title_);
  }

 private:
  static std::string names_of(const Spelling& row) {
    return row.letter == '\0' ? row.long_name() : row.short_name() + ',' + row.long_name();
  }
  CLI::Option* typed(CLI::Option* option, const Spelling& row) const {
    return option->type_name(std::string(row.value))->group(title_);
  }

  CLI::App& app_;
  std::string title_;
};

}  // namespace rdmabench::inline v1::tools
