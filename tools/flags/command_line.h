// Reads the command lines of other programs, each by its table of flags.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../terminal.h"
#include "fields.h"
#include "flag.h"
#include "rdmabench/base/error.h"
#include "values.h"

namespace rdmabench::inline v1::tools {

/// The words of a command line, parted into flags and the rest.
struct Words {
  std::vector<std::pair<std::size_t, Given>> flags;  ///< index into the table; each flag once
  std::vector<std::string> rest;
};

/// Splits `words`, which do not begin with the program's name, as getopt_long(3) does: bundled
/// letters (-Fa), values with and without a space (-s8), flags after other words, an unambiguous
/// beginning of a long name (--iter), and of two the same the last. Throws Error(usage): an unknown
/// flag names the nearest right one.
Words split_words(std::string_view program, std::span<const Spelling> flags,
                  const std::vector<std::string>& words);

/// Which program's command line is read: its flags, and what its help says around them.
template <class Target>
struct CommandLineStyle {
  std::string_view about;    ///< the first sentence of --help, about the program "{}"
  std::string_view operand;  ///< what may stand beside flags, for --help: "[HOST]"; "" for nothing
  std::string_view version;  ///< the answer to --version
  std::string_view footer;
  std::vector<std::span<const Flag<Target>>> tables{};
  /// Where the flags that set an option of rdmabench set it.
  run::Config& (*config)(Target& target) = nullptr;
  /// A sentence: which programs have the flag that this one does not have.
  std::string (*whose)(ToolSet tools) = nullptr;
  /// Throws for a flag that is refused; nullptr = Error(usage).
  void (*refuse)(std::string_view what, std::string_view remedy) = nullptr;
};

template <class Target>
struct CommandLine {
  Target flags{};
  std::string operand;  ///< "" where there is none
  std::string answer;   ///< of --help or --version: print it, and do nothing else
  control::Authentication authentication{};
};

/// Which flag sets what, for errors that name an option.
template <class Table>
void add_fields(const Table& table, std::vector<FieldFlag>& fields) {
  for (const auto& flag : table) {
    if (!flag.option.empty()) fields.emplace_back(flag.option, flag.short_name());
  }
}

/// "  -s, --size bytes    text\n"
std::string help_line(const Spelling& flag, std::string_view text);

/// Throws Error(usage) where there are more than `most` of them.
void check_operands(std::string_view program, const std::vector<std::string>& rest,
                    std::size_t most);

/// Whether `given`, the value of a refused flag, is the flag's default `usual`, which is accepted.
bool is_usual(const Given& given, std::string_view usual);

/// Calls `visit` with each flag that the program takes.
template <class Target, class Visit>
void for_each_taken(const CommandLineStyle<Target>& of, ToolSet bit, Visit visit) {
  for (const auto& table : of.tables) {
    for (const Flag<Target>& flag : table) {
      if (flag.handling != Handling::refused && (flag.tools & bit) != 0) visit(flag);
    }
  }
}

template <class Target>
std::string help(const CommandLineStyle<Target>& of, std::string_view program, ToolSet bit) {
  std::string text = fmt::format("{}\n\nUsage: {} [OPTIONS] {}\n\nOptions:\n",
                                 fmt::format(fmt::runtime(of.about), program), program, of.operand);
  for_each_taken(of, bit, [&text](const Flag<Target>& flag) {
    text += help_line(flag, flag.usual.empty() ? std::string(flag.text)
                                               : fmt::format("{} [{}]", flag.text, flag.usual));
  });
  return help_for_reading(fmt::format("{}\n{}\n", text, of.footer));
}

template <class Target>
Accepted accepted(const CommandLineStyle<Target>& of, ToolSet bit) {
  Accepted all{.takes_host = !of.operand.empty()};
  for_each_taken(of, bit, [&all](const Flag<Target>& flag) {
    all.flags.push_back({flag, flag.text, flag.option.starts_with("device")});
  });
  for (const auto& flag : authentication_flags()) all.flags.push_back({flag, flag.text});
  return all;
}

/// Reads `words`, those after the program's name; `bit` is the program's of Flag::tools. What has
/// no effect is added to `notes` of `line.flags`, which are defaults to begin with. Throws
/// Error(usage), and what CommandLineStyle::refuse throws.
template <class Target>
void read_command_line(const CommandLineStyle<Target>& of, std::string_view program, ToolSet bit,
                       const std::vector<std::string>& words, CommandLine<Target>& line) {
  std::vector<const Flag<Target>*> flags;
  std::vector<Spelling> spellings;
  for (const auto& table : of.tables) {
    for (const Flag<Target>& flag : table) {
      flags.push_back(&flag);
      spellings.push_back(flag);
    }
  }
  const auto secret = authentication_flags();
  spellings.insert(spellings.end(), secret.begin(), secret.end());
  const Words parted = split_words(program, spellings, words);
  for (const auto& [index, given] : parted.flags) {
    if (index >= flags.size()) continue;
    if (flags[index]->name == "help") line.answer = help(of, program, bit);
    if (flags[index]->name == "version") line.answer = fmt::format("{}\n", of.version);
    if (!line.answer.empty()) return;
  }
  for (const auto& [index, given] : parted.flags) {
    if (index >= flags.size()) {
      secret[index - flags.size()].set(line.authentication, given);
      continue;
    }
    const Flag<Target>& flag = *flags[index];
    if ((flag.tools & bit) == 0 && flag.handling != Handling::refused) {
      throw Error(Fault::usage, fmt::format("{} is not a flag of {}", given.name, program),
                  of.whose(flag.tools));
    }
    if (flag.handling == Handling::refused && !is_usual(given, flag.usual)) {
      const std::string what = fmt::format("{}{}{} is not accepted here", given.name,
                                           given.text.empty() ? "" : " ", given.text);
      if (of.refuse != nullptr) of.refuse(what, flag.text);
      throw Error(Fault::usage, what, flag.text);
    }
    if (flag.set != nullptr) {
      flag.set(line.flags, given);
    } else if (!flag.option.empty()) {
      set_option(*run::find_option(flag.option), of.config(line.flags), given);
    }
    if (flag.handling == Handling::ignored && !is_usual(given, flag.usual)) {
      line.flags.notes.push_back(fmt::format("{} has no effect: {}", given.name, flag.text));
    }
  }
  check_operands(program, parted.rest, of.operand.empty() ? 0 : 1);
  if (!parted.rest.empty()) line.operand = parted.rest.front();
}

}  // namespace rdmabench::inline v1::tools
