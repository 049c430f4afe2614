// rdmabench completion: what a shell needs to complete command lines, from the options as they are
// parsed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "analysis/projection.h"
#include "base/text.h"
#include "commands.h"
#include "fabric/schedule.h"
#include "output.h"
#include "rdmabench/base/error.h"
#include "rdmabench/collective/call.h"
#include "rdmabench/health/doctor.h"
#include "rdmabench/run/backends.h"
#include "run/options.h"
#include "run/requirements.h"

namespace rdmabench::inline v1::tools {
namespace {

/// An option as a shell completes it.
struct Word {
  std::vector<std::string> names;  ///< "-s", "--size"
  std::string help;                ///< one line
  bool takes_value = false;
  std::vector<std::string> values;  ///< all that it takes, where they are few; else file names
  bool is_device = false;           ///< its values are what the node has
  bool is_list = false;             ///< several, separated by commas
};

constexpr std::string_view kDevices = "ls /sys/class/infiniband 2>/dev/null; ls /sys/class/net";

/// The words of an option that takes others too, or takes them by rules of its own.
const std::vector<std::string>& usual_values(const std::string& command, const std::string& name) {
  static const std::map<std::string, std::vector<std::string>> known = [] {
    std::map<std::string, std::vector<std::string>> all{
        {"--backend", {"auto"}},
        {"--memory", {"host", "huge", "dmabuf", "file:", "cuda:auto", "cuda:0"}},
        {"--peer-memory", {"host", "huge", "cuda:auto", "cuda:0"}},
        {"--numa", {"auto", "none"}},
        {"--auth", {"token", "munge"}},
        {"--mtu", {"256", "512", "1024", "2048", "4096"}}};
    run::Config config;
    run::for_each_option([&](const run::Option& option) {
      std::visit(
          [&](auto* value) {
            if constexpr (requires { run::names_of(*value); }) {
              const auto& words = run::names_of(*value);
              all[std::string(option.long_flag())] = {words.begin(), words.end()};
            }
          },
          option.in(config));
    });
    for (const transport::BackendRow& row : run::known_backends()) {
      all["--backend"].emplace_back(row.name);
    }
    for (const analysis::Model& model : analysis::models()) {
      all["--model"].emplace_back(model.name);
    }
    all["fabric --pattern"] = {fabric::kPatternNames.begin(), fabric::kPatternNames.end()};
    using analysis::Metric;
    for (const Metric one : {Metric::p50, Metric::p99, Metric::p999, Metric::bandwidth}) {
      all["compare --metric"].emplace_back(analysis::name(one));
    }
    for (const run::RequirementWord& word : run::requirement_words()) {
      all["--require"].push_back(fmt::format("{}{}", word.name, word.is_named ? "=" : ""));
    }
    for (std::size_t i = 0; i < collective::kDataTypes; ++i) {
      all["coll --type"].emplace_back(collective::name(collective::DataType(i)));
    }
    for (std::size_t i = 0; i < collective::kReductions; ++i) {
      all["coll --reduction"].emplace_back(collective::name(collective::Reduction(i)));
    }
    all["coll --require"] = {"device=", "network=", "gpudirect"};
    std::vector<std::string>& checks = all["doctor --only"];
    for (const health::CheckInfo& check : health::checks()) {
      const std::string group(check.group());
      if (checks.empty() || std::find(checks.begin(), checks.end(), group) == checks.end()) {
        checks.push_back(group);
      }
      checks.emplace_back(check.id);
    }
    return all;
  }();
  static const std::vector<std::string> none;
  for (const std::string& key : {command + ' ' + name, name}) {
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  return none;
}

/// What may be typed first, and what may follow it.
struct Completed {
  std::string name;
  std::string about;
  std::vector<Word> words;
  bool takes_host = false;
  std::vector<std::string> operands{};  ///< what stands without an option
};

/// The validator of an option with a few values is named "{table,json}".
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  if (open == std::string::npos || type.back() != '}') return {};
  return CLI::detail::split(type.substr(open + 1, type.size() - open - 2), ',');
}

std::vector<Word> options_of(const CLI::App& app) {
  std::vector<Word> found;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional()) continue;
    Word word;
    for (const std::string& name : option->get_snames()) word.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) word.names.push_back("--" + name);
    word.help = option->get_description();
    word.takes_value = option->get_items_expected_max() > 0 && option->get_type_size_max() > 0;
    word.values = values_of(*option);
    word.is_list = option->get_delimiter() == ',';
    for (const std::string& name : word.names) {
      if (word.values.empty() && word.takes_value) {
        word.values = usual_values(app.get_name(), name);
      }
      word.is_device = word.is_device || name == "--device" || name == "--rails";
    }
    found.push_back(std::move(word));
  }
  return found;
}

/// Whether it names a machine, as lat and netplugin do.
bool takes_host(const CLI::App& app) {
  const std::vector<const CLI::Option*> all = app.get_options();
  return std::any_of(all.begin(), all.end(), [](const CLI::Option* option) {
    return option->get_positional() && lower(option->get_single_name()) == "host";
  });
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// The flags of another suite's program, by the table that its command lines are read by.
std::vector<Word> words_of(const Accepted& accepted) {
  std::vector<Word> words;
  for (const Accepted::One& one : accepted.flags) {
    Word& word = words.emplace_back();
    if (one.flag.letter != '\0') word.names.push_back(one.flag.short_name());
    if (!one.flag.name.empty()) word.names.push_back(one.flag.long_name());
    word.help = one.text;
    word.takes_value = one.flag.takes == Value::required;
    word.is_device = one.is_device;
  }
  return words;
}

std::vector<Completed> completed(const CLI::App& app) {
  std::vector<Completed> all;
  for (const CLI::App* command : commands_of(app)) {
    Completed& one = all.emplace_back(Completed{command->get_name(), command->get_description(),
                                                options_of(*command), takes_host(*command)});
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional() && one.operands.empty()) one.operands = values_of(*option);
    }
  }
  for (const Suite& suite : suites()) {
    for (std::size_t i = 0; i < suite.programs.size(); ++i) {
      all.push_back({suite.programs[i], fmt::format("as {} has it", suite.name),
                     words_of(suite.accepted[i]), suite.accepted[i].takes_host});
    }
  }
  Completed help{"help", "Print the options of a command", {}};
  for (const Completed& one : all) help.operands.push_back(one.name);
  all.push_back(std::move(help));
  return all;
}

/// Within single quotes of any of the three shells: those would end at one.
std::string quotable(std::string text) {
  std::erase(text, '\'');
  return text;
}

std::string bash_script(const CLI::App& app) {
  std::vector<std::string> names;
  std::string cases;
  for (const Completed& command : completed(app)) {
    names.push_back(command.name);
    std::vector<std::string> words;
    std::string values;
    for (const Word& option : command.words) {
      words.insert(words.end(), option.names.begin(), option.names.end());
      if (!option.takes_value) continue;
      values += fmt::format(
          "        {}) {} ;;\n", fmt::join(option.names, "|"),
          option.is_device        ? fmt::format("words=$({{ {}; }} | _rdmabench_plain)", kDevices)
          : option.values.empty() ? "COMPREPLY=($(compgen -P \"$typed\" -f -- \"$word\")); return"
                                  : fmt::format("words='{}'", fmt::join(option.values, " ")));
    }
    cases += fmt::format(
        "    {})\n      words='{}'\n{}      case $before in\n{}      esac ;;\n", command.name,
        fmt::join(words, " "),
        command.takes_host ? "      [[ $word == -* ]] || words+=\" $(_rdmabench_hosts)\"\n"
                           : fmt::format("      words+=' {}'\n", fmt::join(command.operands, " ")),
        values);
  }
  return fmt::format(R"(# bash completion of rdmabench
# compgen -W expands its words, also $(a command): nothing else than names comes to it.
_rdmabench_plain() {{
  grep -xE '[A-Za-z0-9._:@%-]+'
}}
_rdmabench_hosts() {{
  {{
    cat ~/.ssh/known_hosts /etc/ssh/ssh_known_hosts 2>/dev/null |
      sed -e '/^[#@|]/d' -e 's/[[:blank:]].*//' -e 's/\[\([^]]*\)\]:[0-9]*/\1/g' | tr , '\n'
    sed -e 's/#.*//' -e 's/^[^[:blank:]]*//' /etc/hosts 2>/dev/null | tr '[:blank:]' '\n'
  }} | _rdmabench_plain
}}
_rdmabench() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words='' typed=''
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$word"))
    return
  fi
  # "--op=wr" is three words where COMP_WORDBREAKS has the sign.
  if [[ $word == = ]]; then
    word=''
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD-2]}}
  elif [[ $word == --*=* ]]; then
    before=${{word%%=*}} typed=${{word%%=*}}= word=${{word#*=}}
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $word == *,* ]]; then
    typed+=${{word%,*}}, word=${{word##*,}}
  fi
  COMPREPLY=($(compgen -P "$typed" -W "$words" -- "$word"))
}}
complete -o default -F _rdmabench rdmabench
)",
                     fmt::join(names, " "), cases);
}

std::string zsh_script(const CLI::App& app) {
  const auto escaped = [](const std::vector<std::string>& values) {  // a colon would end the list
    std::string text;
    for (const char letter : fmt::format("{}", fmt::join(values, " "))) {
      text += letter == ':' ? "\\:" : std::string(1, letter);
    }
    return text;
  };
  const auto plain = [](std::string text) {  // what _arguments would take for syntax
    for (const char special : {'[', ']', ':', '\\'})
      std::replace(text.begin(), text.end(), special, ' ');
    return quotable(std::move(text));
  };
  std::string commands, cases;
  for (const Completed& command : completed(app)) {
    commands += fmt::format("    '{}:{}'\n", command.name, plain(command.about));
    cases += fmt::format("    {}) _arguments", command.name);
    for (const Word& option : command.words) {
      const std::string value =
          !option.takes_value     ? ""
          : option.is_device      ? fmt::format(":device:_sequence compadd - $({})", kDevices)
          : option.values.empty() ? ":value:_files"
          : option.is_list ? fmt::format(":value:_sequence compadd - {}", escaped(option.values))
                           : fmt::format(":value:({})", escaped(option.values));
      for (const std::string& name : option.names) {
        const bool equals = option.takes_value && name.starts_with("--");  // "--op=write" too
        cases += fmt::format(" \\\n      '*{}{}[{}]{}'", name, equals ? "=" : "",
                             plain(option.help), value);
      }
    }
    cases += fmt::format(" \\\n      '*:{}' ;;\n",
                         command.takes_host ? "host:_hosts"
                         : command.operands.empty()
                             ? "file:_files"
                             : fmt::format("word:({})", fmt::join(command.operands, " ")));
  }
  return fmt::format(R"(#compdef rdmabench
_rdmabench() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_rdmabench "$@"
)",
                     commands, cases);
}

std::string fish_script(const CLI::App& app) {
  std::string text = "# fish completion of rdmabench\n";
  const std::vector<Completed> all = completed(app);
  for (const Completed& command : all) {
    text += fmt::format("complete -c rdmabench -n __fish_use_subcommand -f -a {} -d '{}'\n",
                        command.name, quotable(command.about));
  }
  for (const Completed& command : all) {
    if (command.takes_host) {
      text += fmt::format(
          "complete -c rdmabench -n '__fish_seen_subcommand_from {}' -a '(__fish_print_hostnames)'\n",
          command.name);
    }
    if (!command.operands.empty()) {
      text += fmt::format("complete -c rdmabench -n '__fish_seen_subcommand_from {}' -f -a '{}'\n",
                          command.name, fmt::join(command.operands, " "));
    }
    for (const Word& option : command.words) {
      text +=
          fmt::format("complete -c rdmabench -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : option.names) {
        text += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (option.takes_value) text += " -r";
      if (option.is_device) {
        text += fmt::format(" -f -a '(__fish_append , ({}))'", kDevices);
      } else if (option.is_list && !option.values.empty()) {
        text += fmt::format(" -f -a '(__fish_append , {})'", fmt::join(option.values, " "));
      } else if (!option.values.empty()) {
        text += fmt::format(" -f -a '{}'", fmt::join(option.values, " "));
      }
      text += fmt::format(" -d '{}'\n", quotable(option.help));
    }
  }
  return text;
}

}  // namespace

void add_completion(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("completion", "Print the completions of a shell");
  sub->footer(
      "Example:\n"
      "  rdmabench completion bash > /etc/bash_completion.d/rdmabench");
  auto shell = std::make_shared<std::string>();
  sub->add_option("SHELL", *shell, "bash, zsh or fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  sub->callback([shell, &app, &command] {
    if (shell->empty()) {
      command = []() -> int {
        throw Error(Fault::usage, "SHELL is missing: bash, zsh or fish",
                    "Write for example 'rdmabench completion bash'; 'rdmabench completion --help' "
                    "says where the output belongs.");
      };
      return;
    }
    // The tables of options are app's, which ends before the command runs.
    const std::string text = *shell == "bash"  ? bash_script(app)
                             : *shell == "zsh" ? zsh_script(app)
                                               : fish_script(app);
    command = [text] {
      write_text(text, "");
      return 0;
    };
  });
}

}  // namespace rdmabench::inline v1::tools
