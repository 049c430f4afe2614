#include "flag_table.h"

#include <fmt/format.h>

#include <array>

namespace rdmabench::tools::perftest {
namespace {

std::string_view name(Take take) {
  switch (take) {
    case Take::mapped:
      return "taken";
    case Take::not_needed:
      return "taken, always so";
    case Take::ignored:
      return "taken, no effect";
    case Take::refused:
      return "refused";
  }
  return "";
}

std::string spelling(const Flag& flag) {
  const std::string value = flag.value.empty() ? "" : fmt::format("={}", flag.value);
  const std::string letter = flag.letter == '\0' ? "" : fmt::format("-{}, ", flag.letter);
  return fmt::format("`{}--{}{}`", letter, flag.name, value);
}

}  // namespace

std::string Flag::short_name() const {
  return letter == '\0' ? fmt::format("--{}", name) : fmt::format("-{}", letter);
}

std::span<const FlagGroup> flag_groups() {
  static const std::array<FlagGroup, 5> kGroups{
      {{"Traffic", traffic_flags()},
       {"Path", path_flags()},
       {"Memory and processors", memory_flags()},
       {"Report", report_flags()},
       {"Raw Ethernet and special hardware", special_flags()}}};
  return kGroups;
}

const Flag* find_flag(std::string_view name) {
  for (const FlagGroup& group : flag_groups()) {
    for (const Flag& flag : group.flags) {
      if (flag.name == name) return &flag;
    }
  }
  return nullptr;
}

std::string to_markdown() {
  std::string text;
  for (const FlagGroup& group : flag_groups()) {
    text += fmt::format(
        "### {}\n\n| flag | tools | 4.5 | newest | here | | exercised |\n"
        "|---|---|---|---|---|---|---|\n",
        group.title);
    for (const Flag& flag : group.flags) {
      text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", spelling(flag),
                          to_text(flag.tools), flag.release != Release::new_only ? "yes" : "-",
                          flag.release != Release::old_only ? "yes" : "-", name(flag.take),
                          flag.text, flag.exercised);
    }
    text += '\n';
  }
  return text;
}

}  // namespace rdmabench::tools::perftest
