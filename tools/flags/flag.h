// One flag of a command line, as a row of a table: how it is written, what it does, what it sets.
//
// The tables of perftest, fabtests and nccl-tests are made of these rows. read_command_line() in
// command_line.h reads a command line by such a table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/control/channel.h"

namespace rdmabench::inline v1::tools {

/// A flag as it was typed, for messages that name it.
struct Given {
  std::string name;  ///< "-t" or "--tclass"
  std::string text;  ///< its value; "" where it takes none
};

/// What a flag of another program does here.
enum class Handling : std::uint8_t {
  mapped,      ///< does what it says
  not_needed,  ///< accepted without a note: what it asks for is always so
  ignored,     ///< accepted with a note: it changes nothing here
  refused,     ///< an error that says what to use instead
};

/// The releases of the original program that have the flag.
enum class Release : std::uint8_t { both, old_only, new_only };

/// Some of the programs that share a table: bit i is the i-th program.
using ToolSet = std::uint32_t;

enum class Value : std::uint8_t { none, required, optional };

/// "-s, --size=bytes": letter, long name and what the value is; each may be left out. An optional
/// value is written "[=port]". "+ " before it: the newest release alone has the flag; "- ": the old
/// one alone.
struct Spelling {
  char letter = '\0';          ///< '\0' where there is none
  std::string_view name = {};  ///< the long form, without its dashes
  std::string_view value = {};
  Value takes = Value::none;
  Release release = Release::both;

  Spelling() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a row begins with the text.
  constexpr Spelling(const char* spelling) : Spelling(std::string_view(spelling)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): likewise
  Spelling(const std::string& spelling) : Spelling(std::string_view(spelling)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): likewise
  constexpr Spelling(std::string_view text) {
    if (text.starts_with("+ ") || text.starts_with("- ")) {
      release = text[0] == '+' ? Release::new_only : Release::old_only;
      text.remove_prefix(2);
    }
    const std::size_t end = std::min(text.find_first_of("=["), text.size());
    if (end < text.size()) {
      takes = text[end] == '[' ? Value::optional : Value::required;
      value = text.substr(takes == Value::required ? end + 1 : end);
      text = text.substr(0, end);
    }
    if (const std::size_t dashes = text.find("--"); dashes != std::string_view::npos) {
      name = text.substr(dashes + 2);
      text = text.substr(0, dashes);
    }
    if (!text.empty()) letter = text[1];
  }

  /// "-t", or "--tclass" where there is no letter.
  std::string short_name() const;
  std::string long_name() const;
};

template <class Target>
struct Flag : Spelling {
  /// Throws Error(usage) that names the flag.
  using Set = void (*)(Target& target, const Given& given);

  ToolSet tools = 0;
  Handling handling = Handling::mapped;
  std::string_view text = {};       ///< mapped: what it sets; else why, or what to use instead
  std::string_view exercised = {};  ///< by which test; a note for the documents
  Set set = nullptr;
  std::string_view usual =
      {};  ///< the default; a refused flag that has one accepts that value only
  /// The option of rdmabench that it sets where `set` is null, and that errors name for it.
  std::string_view option = {};
};

/// What a program takes, as a shell completes it.
struct Accepted {
  struct One {
    Spelling flag;
    std::string_view text;
    bool is_device = false;  ///< its value
  };
  std::vector<One> flags{};
  bool takes_host = false;
};

/// --token-file, --auth and --insecure, of every command that listens or connects, each of which
/// throws Error(usage) where another one excludes it. The command lines of other suites, which have
/// none of the same names, take them too.
std::span<const Flag<control::Authentication>> authentication_flags();

/// For the first line of what listens: "" or that anyone is served.
std::string who_is_served(const control::Authentication& authentication);

/// "taken", "refused": of the documents' tables.
template <class Target>
std::string_view handling_text(const Flag<Target>& flag) {
  constexpr std::string_view kTexts[]{"taken", "taken, always so", "taken, no effect", "refused"};
  const bool by_default = flag.handling == Handling::refused && !flag.usual.empty();
  return by_default ? "refused but for its default" : kTexts[static_cast<int>(flag.handling)];
}

/// One of a list of programs by the last part of a path, so that argv[0] will do; nullptr for any
/// other word.
template <class Tools>
const typename Tools::value_type* find_tool_in(const Tools& tools, std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  for (const auto& tool : tools) {
    if (tool.name == path) return &tool;
  }
  return nullptr;
}

}  // namespace rdmabench::inline v1::tools
