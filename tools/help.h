// What --help prints, alike with every release of CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>

namespace rdmabench::tools {

inline constexpr const char* kCommonGroup = "Options";  ///< of options without another group
inline constexpr const char* kCommandGroup = "Subcommands";

/// Gives an application this help, and its options and those of its subcommands kCommonGroup:
/// before any is added.
void set_help(CLI::App& app);

/// From here on --help shows only the options `common`, those that the command has, and --help-all
/// all of them: after the last is added.
void shorten_help(CLI::App& app, std::initializer_list<const char*> common);

}  // namespace rdmabench::tools
