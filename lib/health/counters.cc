#include "health/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/rdma_driver.h"
#include "checks/text.h"
#include "devices.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::health {
namespace {

namespace fs = std::filesystem;

/// Collects the readings of all devices.
class CounterReader {
 public:
  explicit CounterReader(fs::path root) : root_(std::move(root)) {}

  void read_device(const std::string& text) {
    const Device device = find_device(text, root_);
    switch (device.kind) {
      case Device::Kind::rdma:
        read_rdma(device);
        break;
      case Device::Kind::network:
        read_interface(device.name, true);
        read_machine();
        break;
      case Device::Kind::none:
        snapshot_.notes.push_back(fmt::format(
            "No counters were read for '{}': it is neither an RDMA nor a network device.", text));
        break;
    }
  }

  Snapshot take() { return std::move(snapshot_); }

 private:
  void read_rdma(const Device& device) {
    const fs::path folder = rdma_folder(root_, device.name);
    const std::string driver = rdma_driver_of(folder);
    const std::size_t first = snapshot_.readings.size();
    std::size_t count = read_folder(folder / "hw_counters", device.name, driver);
    for (const std::string& port : ports_of(device, root_)) {
      const std::string name = device.name + ":" + port;
      count += read_folder(folder / "ports" / port / "counters", name, "ib");
      count += read_folder(folder / "ports" / port / "hw_counters", name, driver);
    }
    note_unknown(device.name, driver, first);
    for (const std::string& port : ports_of(device, root_)) {
      // The packets of Soft-RoCE go through the network device, those of a NIC's RDMA do not.
      for (const std::string& interface : interfaces_of(device.name, port, root_)) {
        read_interface(interface, driver == "rxe");
      }
    }
    if (count == 0) {
      snapshot_.notes.push_back(fmt::format(
          "The kernel shows no counters of {}: a retransmission would go unseen.", device.name));
    }
  }

  /// A driver whose counters nobody here knows: they would look like those of a quiet run.
  void note_unknown(const std::string& device, const std::string& driver, std::size_t first) {
    std::size_t unknown = 0;
    for (std::size_t i = first; i < snapshot_.readings.size(); ++i) {
      const Reading& reading = snapshot_.readings[i];
      if (!reading.source.starts_with("hw_counters/")) continue;
      if (reading.row != nullptr) return;
      ++unknown;
    }
    if (unknown == 0) return;
    snapshot_.notes.push_back(fmt::format(
        "None of the {} hw_counters of {} (driver {}) is known: they keep their own names, and a "
        "retransmission would go unseen.",
        unknown, device, driver.empty() ? "unknown" : driver));
  }

  /// Drops of an interface concern the run only if its data went through the interface.
  void read_interface(const std::string& interface, bool drops) {
    if (std::find(interfaces_.begin(), interfaces_.end(), interface) != interfaces_.end()) return;
    interfaces_.push_back(interface);
    const std::size_t first = snapshot_.readings.size();
    read_folder(root_ / "sys/class/net" / interface / "statistics", interface, "net");
    const auto unwanted = [&](const Reading& reading) {
      if (reading.row == nullptr) return true;
      return !drops && find_neutral(reading.row->neutral)->kind == CounterClass::discard;
    };
    auto& readings = snapshot_.readings;
    readings.erase(std::remove_if(readings.begin() + static_cast<std::ptrdiff_t>(first),
                                  readings.end(), unwanted),
                   readings.end());
  }

  /// /proc/net/snmp and netstat: a line of names and a line of values for each protocol.
  void read_machine() {
    if (std::exchange(machine_read_, true)) return;
    for (const std::string_view file : {"snmp", "netstat"}) {
      std::string text = read_file(root_ / "proc/net" / file).text;
      const std::vector<std::string> lines = lines_of(text);
      for (std::size_t i = 0; i + 1 < lines.size(); i += 2) {
        read_protocol(file, words_of(lines[i]), words_of(lines[i + 1]));
      }
    }
  }

  void read_protocol(std::string_view file, const std::vector<std::string>& names,
                     const std::vector<std::string>& values) {
    if (names.empty() || values.empty() || names[0] != values[0] || !names[0].ends_with(':')) {
      return;
    }
    const std::string protocol = names[0].substr(0, names[0].size() - 1);
    for (std::size_t i = 1; i < std::min(names.size(), values.size()); ++i) {
      const std::string field = protocol + " " + names[i];
      const CounterFile* const row = find_counter(file, field);
      const auto value = to_number(values[i]);
      if (row == nullptr || !value) continue;
      snapshot_.readings.push_back({"machine", fmt::format("{}/{}", file, field), row, *value});
    }
  }

  std::size_t read_folder(const fs::path& folder, const std::string& device,
                          std::string_view driver) {
    int error = 0;
    const std::vector<std::string> files = list_folder(folder, error);
    if (error != 0 && error != ENOENT) note_failure(folder, error);
    std::size_t count = 0;
    bool noted = false;  // one note for a folder is enough
    for (const std::string& file : files) {
      if (file == "lifespan") continue;
      const FileText content = read_file(folder / file);
      if (content.error != 0) {
        if (!std::exchange(noted, true)) note_failure(folder / file, content.error);
        continue;
      }
      const std::string_view text(content.text);
      const auto value = to_number(text.substr(0, text.find('\n')));
      if (!value) continue;  // "N/A (no PMA)"
      snapshot_.readings.push_back(
          {device, folder.filename().string() + "/" + file, find_counter(driver, file), *value});
      ++count;
    }
    return count;
  }

  void note_failure(const fs::path& path, int error) {
    snapshot_.notes.push_back(
        fmt::format("{} could not be read: {}.", path.string(), errno_text(error)));
  }

  fs::path root_;
  Snapshot snapshot_;
  std::vector<std::string> interfaces_;
  bool machine_read_ = false;
};

struct Range {
  std::uint64_t last;  ///< all ones
  bool sticks;
};

Range range_of(const Reading& reading) {
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  constexpr std::array<Range, 6> kRanges{{{kOnes, false},  // by CounterEnd
                                          {kOnes >> 32, false},
                                          {kOnes >> 32, true},
                                          {kOnes >> 48, true},
                                          {kOnes >> 56, true},
                                          {kOnes >> 60, true}}};
  return kRanges[reading.row == nullptr ? 0 : static_cast<std::size_t>(reading.row->end)];
}

CounterClass class_of(const Reading& reading) {
  return reading.row == nullptr ? CounterClass::other : find_neutral(reading.row->neutral)->kind;
}

/// Counters that show a disturbed run are reported even if they did not change.
bool worth_telling(CounterClass kind, const report::Counter& counter) {
  if (counter.at_least) return true;  // at its end: it may hide a change
  switch (kind) {
    case CounterClass::retransmission:
    case CounterClass::receiver_not_ready:
    case CounterClass::congestion:
    case CounterClass::discard:
      return true;
    case CounterClass::traffic:
    case CounterClass::error:
      return counter.change != 0U;
    case CounterClass::other:
      return counter.change.value_or(0) != 0;
    case CounterClass::gauge:
      return false;
  }
  return false;
}

std::vector<report::Counter> differences(const Snapshot& before, const Snapshot& after,
                                         auto&& wanted) {
  std::vector<report::Counter> counters;
  for (const Reading& now : after.readings) {
    const auto then =
        std::find_if(before.readings.begin(), before.readings.end(), [&](const Reading& reading) {
          return reading.device == now.device && reading.source == now.source;
        });
    if (then == before.readings.end()) continue;
    report::Counter counter = difference(*then, now);
    if (wanted(now, counter)) counters.push_back(std::move(counter));
  }
  return counters;
}

std::vector<std::string> names_in(const fs::path& folder) {
  int error = 0;
  return list_folder(folder, error);  // none where there is no such folder
}

}  // namespace

std::vector<std::string> rdma_devices(const std::string& root) {
  return names_in(fs::path(root) / "sys/class/infiniband");
}

std::vector<std::string> network_devices(const std::string& root) {
  return names_in(fs::path(root) / "sys/class/net");
}

std::string counted_as(const std::string& device, const std::string& root) {
  const Device found = find_device(device, root);
  return found.kind == Device::Kind::none ? device : found.name;
}

std::string network_device_of(const std::string& device, const std::string& root) {
  const Device found = find_device(device, root);
  if (found.kind != Device::Kind::rdma) {
    return found.kind == Device::Kind::network ? found.name : "";
  }
  const std::vector<std::string> ports = ports_of(found, root);
  return ports.empty() ? "" : interface_of(rdma_folder(root, found.name), ports.front());
}

Snapshot read_counters(const std::vector<std::string>& devices, const std::string& root) {
  CounterReader reader(root);
  for (const std::string& device : devices) reader.read_device(device);
  return reader.take();
}

std::chrono::milliseconds lifespan(const std::vector<std::string>& devices,
                                   const std::string& root) {
  std::uint64_t longest = 0;
  for (const std::string& text : devices) {
    const Device device = find_device(text, root);
    if (device.kind != Device::Kind::rdma) continue;
    const fs::path folder = rdma_folder(root, device.name);
    longest = std::max(longest, read_number(folder / "hw_counters/lifespan").value_or(0));
    for (const std::string& port : ports_of(device, root)) {
      const fs::path file = folder / "ports" / port / "hw_counters/lifespan";
      longest = std::max(longest, read_number(file).value_or(0));
    }
  }
  constexpr std::uint64_t kMost = 10000;  // the kernel's maximum
  return std::chrono::milliseconds(std::min(longest, kMost));
}

report::Counter difference(const Reading& before, const Reading& after) {
  const bool known = after.row != nullptr;
  const std::string file = after.source.substr(after.source.find('/') + 1);
  report::Counter counter{.device = after.device,
                          .name = known ? std::string(after.row->neutral) : file,
                          .kind = std::string(name(class_of(after))),
                          .source = after.source,
                          .change = std::nullopt,
                          .at_least = false};
  const Range range = range_of(after);
  const std::uint64_t unit = known ? after.row->unit : 1;
  if (after.value >= before.value) {
    counter.change = (after.value - before.value) * unit;
    counter.at_least = range.sticks && after.value == range.last;
  } else if (!range.sticks && before.value <= range.last) {
    const std::uint64_t forward = (after.value - before.value) & range.last;
    if (forward <= range.last / 2) counter.change = forward * unit;
  }
  return counter;
}

std::vector<report::Counter> difference(const Snapshot& before, const Snapshot& after) {
  return differences(before, after, [](const Reading& now, const report::Counter& counter) {
    return worth_telling(class_of(now), counter);
  });
}

std::vector<report::Counter> byte_counters(const Snapshot& before, const Snapshot& after) {
  return differences(before, after, [](const Reading& now, const report::Counter& counter) {
    return class_of(now) == CounterClass::traffic && counter.name.ends_with("_bytes");
  });
}

}  // namespace rdmabench::inline v1::health
