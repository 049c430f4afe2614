// rdmabench devices
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

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

struct Found {
  std::vector<transport::DeviceInfo> devices;
  std::vector<std::pair<std::string, std::string>> unavailable;  ///< back ends, and why
};

Found find_devices() {
  Found found;
  for (const run::Backend& backend : run::backends()) {
    try {
      for (transport::DeviceInfo& device : backend.devices()) {
        found.devices.push_back(std::move(device));
      }
    } catch (const Error& error) {
      found.unavailable.emplace_back(backend.name, error.what());
    }
  }
  return found;
}

/// Every value of a key: a port has several GIDs.
std::string detail(const transport::DeviceInfo& device, std::string_view key) {
  std::string values;
  for (const auto& [name, value] : device.details) {
    if (name == key) values += (values.empty() ? "" : ", ") + value;
  }
  return values;
}

constexpr std::string_view kFault = "fault";

/// A line for each port or domain: its details are columns, the first ones the most important.
TextTable device_table(const Found& found) {
  std::vector<TextTable::Column> columns{{"backend", TextTable::Align::left},
                                         {"device", TextTable::Align::left},
                                         {"provider", TextTable::Align::left},
                                         {"state", TextTable::Align::left}};
  std::vector<std::string> keys;
  for (const transport::DeviceInfo& device : found.devices) {
    for (const auto& [key, value] : device.details) {
      if (key == kFault || std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      keys.push_back(key);
      columns.push_back({key, TextTable::Align::left, static_cast<int>(keys.size())});
    }
  }
  columns.push_back({std::string(kFault), TextTable::Align::left});
  TextTable table(columns);
  for (const transport::DeviceInfo& device : found.devices) {
    std::vector<std::string> cells{device.backend, device.name, device.provider, device.state};
    for (const std::string& key : keys) cells.push_back(detail(device, key));
    cells.push_back(detail(device, kFault));
    table.add_row(std::move(cells));
  }
  for (const auto& [backend, why] : found.unavailable) {
    std::vector<std::string> cells(columns.size());
    cells[0] = backend;
    cells[3] = "unavailable";
    cells.back() = why;
    table.add_row(std::move(cells));
  }
  return table;
}

std::string to_json(const Found& found) {
  using Json = nlohmann::ordered_json;
  Json document{{"schema", "rdmabench-devices/1"}, {"devices", Json::array()}};
  for (const transport::DeviceInfo& device : found.devices) {
    Json details = Json::object();
    for (const auto& [key, value] : device.details) details[key] = detail(device, key);
    document["devices"].push_back({{"backend", device.backend},
                                   {"device", device.name},
                                   {"provider", device.provider},
                                   {"state", device.state},
                                   {"details", details}});
  }
  for (const auto& [backend, why] : found.unavailable) {
    document["devices"].push_back({{"backend", backend},
                                   {"device", ""},
                                   {"provider", ""},
                                   {"state", "unavailable"},
                                   {"details", {{kFault, why}}}});
  }
  document["libraries"] = Json::array();
  for (const run::SharedLibrary& library : run::shared_libraries()) {
    document["libraries"].push_back(
        {{"name", library.name}, {"file", library.file}, {"absence", library.absence}});
  }
  return document.dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
}

int list_devices(Output& options) {
  settle_format(options);
  check_writable(options.output);
  check_writable(options.json);
  const Found found = find_devices();
  const std::size_t width = table_width(options.wide);
  write_result(for_reading(fmt::format("{}\n{}", device_table(found).text(width),
                                       library_table().text(width)),
                           options.output),
               to_json(found), options);
  return 0;
}

}  // namespace

void add_devices(CLI::App& app, Command& command) {
  const auto [sub, options] = add_command<Output>(
      app, command, "devices",
      "List what this machine can measure with: devices, providers and libraries", "",
      list_devices);
  const OptionGroup group(sub);
  add_formats(group, options, {{"table", ".txt"}, {"json", ".json"}});
  add_wide(group, options.wide);
}

}  // namespace rdmabench::inline v1::tools
