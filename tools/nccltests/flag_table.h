// Every flag of nccl-tests 2.19.6, and what becomes of it here.
//
// docs/nccl-tests.md shows this table, and a test holds the two against each other. Facts from the
// getopt tables of src/common.cu, at 2.19.6 and earlier releases.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "flags.h"

namespace rdmabench::tools::nccltests {

enum class Take : std::uint8_t {
  mapped,      ///< does what it says
  not_needed,  ///< taken in silence: what it asks for is so in any case
  ignored,     ///< taken with a note where it is set: it changes nothing here
  refused,     ///< its default is taken; any other value is an error that says what to use instead
};

/// A flag as it was typed, for messages that name it.
struct Given {
  std::string name;  ///< "-b"
  std::string text;
};

struct Flag {
  char letter;
  std::string_view name;   ///< the long form, without its dashes
  std::string_view value;  ///< what its value is
  std::string_view usual;  ///< nccl-tests' default
  Take take;
  std::string_view text;       ///< mapped: what it sets; else why, or what to use instead
  std::string_view exercised;  ///< "fake": by tests/integration/nccl.py; "unit"
  void (*set)(Flags& flags, const Given& given);  ///< reads the value; throws Error(usage)
};

std::span<const Flag> flags();

/// The rows as the table of docs/nccl-tests.md.
std::string to_markdown();

}  // namespace rdmabench::tools::nccltests
