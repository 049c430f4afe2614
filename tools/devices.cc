// rdmabench devices
#include <fmt/format.h>

#include <cstdio>

#include "commands.h"
#include "rdmabench/report/text_table.h"
#include "rdmabench/run/backends.h"

namespace rdmabench::tools {
namespace {

int list_devices() {
  using report::TextTable;
  TextTable table({{"backend", TextTable::Align::left},
                   {"device", TextTable::Align::left},
                   {"provider", TextTable::Align::left},
                   {"state", TextTable::Align::left},
                   {"details", TextTable::Align::left}});
  for (const run::Backend& backend : run::backends()) {
    for (const transport::DeviceInfo& device : backend.devices()) {
      std::string details;
      for (const auto& [name, value] : device.details) {
        details += fmt::format("{}{}={}", details.empty() ? "" : " ", name, value);
      }
      table.add_row({device.backend, device.name, device.provider, device.state, details});
    }
  }
  std::fputs(table.text().c_str(), stdout);
  return 0;
}

}  // namespace

void add_devices(CLI::App& app, Command& command) {
  CLI::App* devices = app.add_subcommand(
      "devices", "List what this machine can measure with: devices and providers");
  devices->callback([&command] { command = list_devices; });
}

}  // namespace rdmabench::tools
