// rdmabench devices
#include <fmt/format.h>

#include "commands.h"
#include "options.h"
#include "rdmabench/base/error.h"
#include "rdmabench/run/backends.h"
#include "results/text_table.h"
#include "terminal.h"

namespace rdmabench::inline v1::tools {
namespace {

using report::TextTable;

/// Which file of each library serves here, and what a missing one's package is.
TextTable library_table() {
  TextTable table({{"library", TextTable::Align::left}, {"file", TextTable::Align::left}});
  for (const run::SharedLibrary& library : run::shared_libraries()) {
    table.add_row(
        {library.name, library.file.empty() ? "missing: " + library.absence : library.file});
  }
  return table;
}

int list_devices(bool& wide) {
  TextTable table({{"backend", TextTable::Align::left},
                   {"device", TextTable::Align::left},
                   {"provider", TextTable::Align::left},
                   {"state", TextTable::Align::left},
                   {"details", TextTable::Align::left}});
  for (const run::Backend& backend : run::backends()) {
    try {
      for (const transport::DeviceInfo& device : backend.devices()) {
        std::string details;
        for (const auto& [name, value] : device.details) {
          details += fmt::format("{}{}={}", details.empty() ? "" : " ", name, value);
        }
        table.add_row({device.backend, device.name, device.provider, device.state, details});
      }
    } catch (const Error& error) {
      table.add_row({std::string(backend.name), "", "", "unavailable", error.what()});
    }
  }
  const std::size_t width = table_width(wide);
  fmt::print("{}\n{}", table.text(width), library_table().text(width));
  return 0;
}

}  // namespace

void add_devices(CLI::App& app, Command& command) {
  const auto [sub, wide] =
      add_command<bool>(app, command, "devices",
                        "List what this machine can measure with: devices, providers and libraries",
                        "", list_devices);
  add_wide(OptionGroup(sub), wide);
}

}  // namespace rdmabench::inline v1::tools
