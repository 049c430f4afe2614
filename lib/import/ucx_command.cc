// The line that ran ucx_perftest.
#include <utility>

#include "ucx_perftest.h"

namespace rdmabench::inline v1::import {

std::string UcxCommand::option(char letter) const {
  const auto found = options.find(letter);
  return found == options.end() ? "" : found->second;
}

UcxCommand ucx_command_in(std::string_view line) {
  constexpr std::string_view kTakeValues = "tnsWOwDiHMrETdxARpbcPmaLFYKgG";
  UcxCommand command;
  if (!has(line, "ucx_perftest")) return command;
  const Words words = words_of(line);
  std::size_t at = 0;
  while (at < words.size() && !base_name(words[at]).ends_with("ucx_perftest")) {
    for (const auto& [name, value] : {std::pair{"UCX_TLS=", &command.transports},
                                      std::pair{"UCX_NET_DEVICES=", &command.devices}}) {
      if (words[at].starts_with(name)) *value = words[at].substr(words[at].find('=') + 1);
    }
    ++at;
  }
  const bool is_first = at == 0;
  const bool named = at < words.size();
  bool ended = false;  // by what the shell parts commands with
  for (++at; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (word.find_first_of("|&;><") != std::string_view::npos) {
      ended = true;
      break;
    }
    if (word == "\\" || word.starts_with("--")) continue;
    if (!word.starts_with('-') || word.size() < 2) {
      command.of_client = true;
      continue;
    }
    for (std::size_t i = 1; i < word.size(); ++i) {
      const bool takes = kTakeValues.find(word[i]) != std::string_view::npos;
      std::string& value = command.options[word[i]];
      if (!takes) continue;
      const bool attached = i + 1 < word.size();
      if (!attached) ++at;
      value = attached ? word.substr(i + 1) : at < words.size() ? words[at] : "";
      break;
    }
  }
  // Prose names it, too.
  command.any = named && (is_first || !command.options.empty());
  command.goes_on = named && line.ends_with(" \\") && !ended;
  return command;
}

}  // namespace rdmabench::inline v1::import
