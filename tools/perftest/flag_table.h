// Every flag of perftest 4.5 and of its newest release, and what becomes of it here.
//
// docs/perftest.md shows this table, and a test holds the two against each other. Facts from
// perftest's usage texts and getopt tables: Debian's 4.5 (tag v4.5-0.17, protocol version 6.06) and
// 26.04 (protocol version 6.29).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "flags.h"

namespace rdmabench::tools::perftest {

enum class Release : std::uint8_t { both, old_only, new_only };

enum class Take : std::uint8_t {
  mapped,      ///< does what it says
  not_needed,  ///< taken in silence: what it asks for is so in any case
  ignored,     ///< taken with a note: it changes nothing here
  refused,     ///< an error that says what to use instead
};

/// A flag as it was typed, for messages that name it.
struct Given {
  std::string name;  ///< "-t" or "--tclass"
  std::string text;  ///< its value; "" where it takes none
};

struct Flag {
  char letter;             ///< '\0' where there is none
  std::string_view name;   ///< the long form, without its dashes
  std::string_view value;  ///< what its value is; "" where it takes none
  ToolSet tools;           ///< whose parser takes it
  Release release;
  Take take;
  std::string_view text;       ///< mapped: what it sets; else why, or what to use instead
  std::string_view exercised;  ///< "guest", "unit", or why not
  void (*set)(Flags& flags, const Given& given);  ///< nullptr unless mapped; throws Error(usage)

  /// "-t", or "--tclass" where there is no letter.
  std::string short_name() const;
};

struct FlagGroup {
  std::string_view title;
  std::span<const Flag> flags;
};

std::span<const FlagGroup> flag_groups();

/// nullptr where no flag has that long name.
const Flag* find_flag(std::string_view name);

/// The rows as the tables of docs/perftest.md.
std::string to_markdown();

// The groups, one file each.
std::span<const Flag> traffic_flags();
std::span<const Flag> path_flags();
std::span<const Flag> memory_flags();
std::span<const Flag> report_flags();
std::span<const Flag> special_flags();

}  // namespace rdmabench::tools::perftest
