// The options of a command, as its --help groups them.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "flags/values.h"
#include "help.h"
#include "quantity.h"
#include "rdmabench/base/units.h"

namespace rdmabench::tools {

/// Adds options to one group. What they set has to outlive the application. Each kind has its own
/// name for a value in the help, which type_name() of what is returned may replace.
class OptionGroup {
 public:
  explicit OptionGroup(CLI::App& app, std::string title = kCommonGroup)
      : app_(app), title_(std::move(title)) {}

  CLI::Option* flag(const std::string& names, bool& value, const std::string& help) const {
    return app_.add_flag(names, value, help)->group(title_);
  }
  /// A flag that calls `act`.
  template <class Act>
  CLI::Option* action(const std::string& names, Act&& act, const std::string& help) const {
    return app_.add_flag_callback(names, std::forward<Act>(act), help)->group(title_);
  }
  /// A row of a table: set(const Given&) is called.
  template <class Set>
  void add(const Spelling& row, std::string_view text, Set set) const {
    const std::string name = row.long_name();
    const std::string names = row.letter == '\0' ? name : row.short_name() + ',' + name;
    if (row.takes == Value::none) {
      action(
          names,
          [set, name] {
            set({name, ""});
          },
          std::string(text));
    } else {
      parsed(
          names,
          [set, name](const std::string& value) {
            set({name, value});
          },
          std::string(row.value), std::string(text));
    }
  }
  /// A value as CLI11 reads its type.
  template <class T>
  CLI::Option* plain(const std::string& names, T& value, const std::string& type,
                     const std::string& help) const {
    return app_.add_option(names, value, help)->type_name(type)->group(title_);
  }
  /// One of `words`.
  CLI::Option* choice(const std::string& names, std::string& value, const std::string& type,
                      const std::vector<std::string>& words, const std::string& help) const {
    return plain(names, value, type, help)->check(CLI::IsMember(words));
  }
  /// Several, separated by commas; the option may be repeated too. Every list of names is one; what
  /// may hold a comma itself (files, limits, expectations) is a list of words.
  template <class T>
  CLI::Option* list(const std::string& names, std::vector<T>& value, const std::string& type,
                    const std::string& help) const {
    return plain(names, value, type, help)->delimiter(',');
  }
  /// A text, or texts, that `parse` reads.
  template <class T = std::string, class Parse>
  CLI::Option* parsed(const std::string& names, Parse&& parse, const std::string& type,
                      const std::string& help) const {
    return app_.add_option_function<T>(names, std::forward<Parse>(parse), help)
        ->type_name(type)
        ->group(title_);
  }
  template <class T>
  CLI::Option* whole(const std::string& names, T& value, std::uint64_t min, std::uint64_t max,
                     const std::string& help) const {
    const std::string name = names.substr(names.rfind(',') + 1);  // npos + 1 is 0
    return parsed(
        names,
        [&value, name, min, max](const std::string& text) {
          value = whole_as<T>({name, text}, min, max);
        },
        "N", help);
  }
  CLI::Option* size(const std::string& names, std::uint64_t& value, const std::string& help) const {
    return read(names, value, parse_size, "SIZE", help);
  }
  CLI::Option* sizes(const std::string& names, std::vector<std::uint64_t>& value,
                     const std::string& help) const {
    return read(names, value, parse_size_list, "SIZES", help);
  }
  template <class Duration>
  CLI::Option* time(const std::string& names, Duration& value, const std::string& help) const {
    const auto parse = [](const std::string& text) {
      return std::chrono::duration_cast<Duration>(parse_duration(text));
    };
    return read(names, value, parse, "TIME", help);
  }
  /// "5%", see parse_percent().
  CLI::Option* percent(const std::string& names, double& value, const std::string& help) const {
    return read(names, value, parse_percent, "PERCENT", help);
  }
  /// "8B", see parse_quantity().
  template <class T>
  CLI::Option* quantity(const std::string& names, T& value, const std::string& help) const {
    return read(names, value, parse_quantity, "N", help);
  }

 private:
  template <class T, class Parse>
  CLI::Option* read(const std::string& names, T& value, Parse parse, const std::string& type,
                    const std::string& help) const {
    return parsed(
        names, [&value, parse](const std::string& text) { value = parse(text); }, type, help);
  }

  CLI::App& app_;
  std::string title_;
};

}  // namespace rdmabench::tools
