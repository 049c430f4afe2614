// What --help prints, alike with every release of CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace rdmabench::tools {

inline constexpr const char* kCommonGroup = "Options";  ///< of options without another group
inline constexpr const char* kCommandGroup = "Subcommands";

/// The command's text, its usage, its options by group, its subcommands, its footer. Options that
/// `All` asks for and the usual help leaves out: those outside of kCommonGroup, where it is short.
class Help : public CLI::Formatter {
 public:
  explicit Help(bool is_short) : short_(is_short) {}
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;

 private:
  bool short_;
};

/// Gives an application this help, and its options and those of its subcommands kCommonGroup:
/// before any is added.
void set_help(CLI::App& app);

}  // namespace rdmabench::tools
