#include "flag_table.h"

#include <fmt/format.h>

#include <array>

namespace rdmabench::tools::perftest {

std::span<const FlagGroup> flag_groups() {
  static const std::array<FlagGroup, 5> kGroups{
      {{"Traffic", traffic_flags()},
       {"Path", path_flags()},
       {"Memory and processors", memory_flags()},
       {"Report", report_flags()},
       {"Raw Ethernet and special hardware", special_flags()}}};
  return kGroups;
}

std::string to_markdown() {
  std::string text;
  for (const FlagGroup& group : flag_groups()) {
    text += fmt::format(
        "### {}\n\n| flag | tools | 4.5 | newest | here | | exercised |\n"
        "|---|---|---|---|---|---|---|\n",
        group.title);
    for (const Flag& flag : group.flags) {
      const std::string value = flag.value.empty() ? "" : fmt::format("={}", flag.value);
      const std::string letter = flag.letter == '\0' ? "" : fmt::format("-{}, ", flag.letter);
      text += fmt::format(
          "| `{}--{}{}` | {} | {} | {} | {} | {} | {} |\n", letter, flag.name, value,
          to_text(flag.tools), flag.release != Release::new_only ? "yes" : "-",
          flag.release != Release::old_only ? "yes" : "-", fate(flag), flag.text, flag.exercised);
    }
    text += '\n';
  }
  return text;
}

}  // namespace rdmabench::tools::perftest
