#include "help.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

namespace rdmabench::tools {
namespace {

constexpr std::size_t kColumn = 34;  // of explanations

/// A flag or a command, and what it does, whose further lines stand in the same column.
std::string item(const std::string& name, const std::string& text) {
  std::string line = fmt::format("  {:{}}", name, kColumn - 2);
  if (!text.empty() && name.size() + 2 >= kColumn) line += '\n' + std::string(kColumn, ' ');
  for (const char c : text) {
    line += c;
    if (c == '\n') line.append(kColumn, ' ');
  }
  return line + '\n';
}

std::string item_of(const CLI::Option& option) {
  std::string name = option.get_name(option.get_positional(), !option.get_positional());
  if (option.get_type_size() != 0) {
    if (!option.get_type_name().empty()) name += ' ' + option.get_type_name();
    if (option.get_expected_max() == CLI::detail::expected_max_vector_size) name += " ...";
    if (option.get_required()) name += " REQUIRED";
  }
  if (!option.get_excludes().empty()) name += " Excludes:";
  for (const CLI::Option* const other : option.get_excludes()) name += ' ' + other->get_name();
  return item(name, option.get_description());
}

std::string group_of(const std::string& title, const std::vector<const CLI::Option*>& options) {
  std::string text;
  for (const CLI::Option* const option : options) text += item_of(*option);
  return text.empty() ? "" : fmt::format("\n{}:\n{}", title, text);
}

}  // namespace

std::string Help::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  const auto options_of = [&](const std::string& group) {
    return app->get_options([&](const CLI::Option* option) {
      return option->get_group() == group && option->nonpositional();
    });
  };
  const auto positionals = app->get_options([](const CLI::Option* option) {
    return !option->get_group().empty() && option->get_positional();
  });
  const auto commands = app->get_subcommands([](const CLI::App*) { return true; });

  std::string text = app->get_description() + "\nUsage: " + name + " [OPTIONS]";
  for (const CLI::Option* const one : positionals) text += ' ' + make_option_usage(one);
  text += commands.empty() ? "\n" : " SUBCOMMAND\n";
  text += group_of("Positionals", positionals);
  if (short_ && mode != CLI::AppFormatMode::All) {
    text += group_of(kCommonGroup, options_of(kCommonGroup)) + "\n--help-all shows all options.\n";
  } else {
    bool first = true;
    for (const std::string& group : app->get_groups()) {
      const std::string one = group.empty() ? "" : group_of(group, options_of(group));
      if (!first && !one.empty()) text += '\n';
      first = first && one.empty();
      text += one;
    }
  }
  if (!commands.empty()) text += fmt::format("\n{}:\n", kCommandGroup);
  for (const CLI::App* const one : commands) text += item(one->get_name(), one->get_description());
  return text + '\n' + app->get_footer() + '\n';
}

void set_help(CLI::App& app) {
  app.formatter(std::make_shared<Help>(false));
  app.option_defaults()->group(kCommonGroup);
  app.set_help_flag("-h,--help", "Print this help message and exit");
}

}  // namespace rdmabench::tools
