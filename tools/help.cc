#include "option_group.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace rdmabench::inline v1::tools {
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

/// What stands before the mark at which CLI11 appends its own: "--no-check{false}", "FORMAT:{a,b}".
std::string until(const std::string& text, const char* mark) {
  return text.substr(0, text.find(mark));
}

std::string item_of(const CLI::Option& option) {
  std::string name = until(option.get_name(option.get_positional(), !option.get_positional()), "{");
  if (option.get_type_size() != 0) {
    if (!option.get_type_name().empty()) name += ' ' + until(option.get_type_name(), ":");
    if (option.get_expected_max() == CLI::detail::expected_max_vector_size) name += " ...";
    if (option.get_required()) name += " REQUIRED";
  }
  return item(name, option.get_description());
}

std::string group_of(const std::string& title, const std::vector<const CLI::Option*>& options) {
  std::string text;
  for (const CLI::Option* const option : options) text += item_of(*option);
  return text.empty() ? "" : fmt::format("\n{}:\n{}", title, text);
}

/// The command's text, its usage, its options by group, its subcommands, its footer.
class Help : public CLI::Formatter {
 public:
  /// The usual help shows the options of kCommonGroup alone where it is short.
  explicit Help(bool is_short) : short_(is_short) {}
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;

 private:
  bool short_;
};

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
    for (const std::string& group : app->get_groups()) {
      if (!group.empty()) text += group_of(group, options_of(group));
    }
  }
  if (!commands.empty()) text += fmt::format("\n{}:\n", kCommandGroup);
  for (const CLI::App* const one : commands) text += item(one->get_name(), one->get_description());
  return text + '\n' + app->get_footer() + '\n';
}

}  // namespace

void set_help(CLI::App& app) {
  app.formatter(std::make_shared<Help>(false));
  app.option_defaults()->group(kCommonGroup);
  app.set_help_flag("-h,--help", "Print this help message and exit");
}

void shorten_help(CLI::App& app, std::initializer_list<const char*> common) {
  for (CLI::Option* const option : app.get_options()) {
    if (option->get_group() == kCommonGroup) option->group("Other");
  }
  app.set_help_all_flag("--help-all", "print all options and exit")->group("");
  app.get_help_ptr()->group(kCommonGroup);
  for (const char* const name : common) {
    if (CLI::Option* const option = app.get_option_no_throw(name)) option->group(kCommonGroup);
  }
  app.formatter(std::make_shared<Help>(true));
}

}  // namespace rdmabench::inline v1::tools
