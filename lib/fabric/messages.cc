#include "messages.h"

#include "base/fields.h"
#include "fabric/schedule.h"
#include "json_fields.h"
#include "rdmabench/base/error.h"

namespace rdmabench::fabric {
namespace {

constexpr std::size_t kMaxCells = 4096;  // of one message
constexpr std::uint64_t kMaxPort = 65535;

std::vector<std::uint16_t> ports_from(const nlohmann::json& object) {
  std::vector<std::uint16_t> ports;
  for (const std::uint64_t port : get_uint_list(object, "ports", kMaxRails, 1, kMaxPort)) {
    ports.push_back(static_cast<std::uint16_t>(port));
  }
  if (ports.empty()) throw Error(Fault::failed, "a node without a port");
  return ports;
}

}  // namespace

std::string plan_text(const FabricPlan& plan) {
  return dump({{"plan", to_json(plan)}});
}

FabricPlan parse_plan(std::string_view text) {
  return plan_from(get_object(parse_object(text, "plan"), "plan"));
}

std::string to_text(const Ready& ready) {
  return dump({{"rails", ready.rails},
               {"interfaces", ready.interfaces},
               {"ports", ready.ports},
               {"environment", report::to_list(ready.environment)}});
}

Ready parse_ready(std::string_view text) {
  const nlohmann::json json = parse_object(text, "ready");
  return {.rails = words_from(json, "rails", kMaxRails, kMaxWord),
          .interfaces = words_from(json, "interfaces", kMaxRails, kMaxWord),
          .ports = ports_from(json),
          .environment = facts_from(json, "environment")};
}

std::string to_text(const MeasureOrder& order) {
  const Json targets = report::list_of_each(order.targets, [](const Target& target) {
    return Json{{"rank", target.rank}, {"address", target.address}, {"ports", target.ports}};
  });
  return dump({{"number", order.number},
               {"senders", order.senders},
               {"rails", order.rails},
               {"targets", targets}});
}

MeasureOrder parse_measure_order(std::string_view text) {
  const nlohmann::json json = parse_object(text, "order");
  MeasureOrder order{.number = get_uint<std::uint64_t>(json, "number"),
                     .senders = get_uint<std::uint32_t>(json, "senders", 1, kMaxFan),
                     .rails = {},
                     .targets = {}};
  for (const auto rail : get_uint_list(json, "rails", kMaxRails, 0, kMaxRails - 1)) {
    order.rails.push_back(static_cast<std::uint32_t>(rail));
  }
  for (const nlohmann::json& item : get_list(json, "targets", kMaxFan)) {
    order.targets.push_back({.rank = get_uint<std::uint32_t>(item, "rank", 0, kMaxNodes - 1),
                             .address = get_string(item, "address", kMaxWord),
                             .ports = ports_from(item)});
  }
  return order;
}

std::string to_text(const Results& results) {
  return dump({{"number", results.number},
               {"last", results.last},
               {"cells", report::list_of_each(results.cells, cell_json)}});
}

Results parse_results(std::string_view text) {
  const nlohmann::json json = parse_object(text, "results");
  Results results{.number = get_uint<std::uint64_t>(json, "number"),
                  .last = get_bool(json, "last"),
                  .cells = {}};
  for (const nlohmann::json& item : get_list(json, "cells", kMaxCells)) {
    results.cells.push_back(cell_from(item));
  }
  return results;
}

std::string bytes_text(const std::vector<DeviceBytes>& devices) {
  return dump({{"devices", to_json(devices)}});
}

std::vector<DeviceBytes> parse_bytes(std::string_view text) {
  const nlohmann::json json = parse_object(text, "bytes");
  std::vector<DeviceBytes> devices;
  for (const nlohmann::json& item : get_list(json, "devices", kMaxDevices)) {
    devices.push_back(device_bytes_from(item));
  }
  return devices;
}

}  // namespace rdmabench::fabric
