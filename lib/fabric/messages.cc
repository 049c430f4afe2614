#include "messages.h"

#include <fmt/format.h>

#include "base/walk.h"
#include "fabric/schedule.h"
#include "json_fields.h"
#include "rdmabench/base/error.h"

namespace rdmabench::fabric {
namespace {

constexpr std::size_t kMaxCells = 4096;  // of one message

void walk_ports(MessageFields& fields, std::vector<std::uint16_t>& ports) {
  fields.numbers("ports", kMaxRails, 1, 65535, ports);
  if (ports.empty()) throw Error(Fault::failed, "a node without a port");
}

}  // namespace

std::string plan_text(const FabricPlan& plan) {
  return dump({{"plan", write_fields(plan)}});
}

FabricPlan parse_plan(std::string_view text) {
  return read_fields<FabricPlan>(get_object(parse_object(text, "plan"), "plan"));
}

void walk(MessageFields& fields, Ready& ready) {
  walk_words(fields, "rails", ready.rails);
  walk_words(fields, "interfaces", ready.interfaces);
  walk_ports(fields, ready.ports);
  walk_environment(fields, ready.environment);
}

std::string to_text(const Ready& ready) {
  return dump(write_fields(ready));
}

Ready parse_ready(std::string_view text) {
  return read_fields<Ready>(parse_object(text, "ready"));
}

void walk(MessageFields& fields, Target& target) {
  fields.number("rank", 0, kMaxNodes - 1, target.rank);
  fields.text("address", target.address);
  walk_ports(fields, target.ports);
}

void walk(MessageFields& fields, MeasureOrder& order) {
  fields.number("number", order.number);
  fields.number("senders", 1, kMaxFan, order.senders);
  fields.numbers("rails", kMaxRails, 0, kMaxRails - 1, order.rails);
  fields.list("targets", kMaxFan, order.targets);
}

std::string to_text(const MeasureOrder& order) {
  return dump(write_fields(order));
}

MeasureOrder parse_measure_order(std::string_view text) {
  return read_fields<MeasureOrder>(parse_object(text, "order"));
}

std::string to_text(const Results& results) {
  const auto cell = [](Measurement one) {
    MessageFields fields;
    walk_cell(fields, one);
    return fields.to();
  };
  return dump({{"number", results.number},
               {"last", results.last},
               {"cells", report::list_of_each(results.cells, cell)}});
}

Results parse_results(std::string_view text) {
  const nlohmann::json json = parse_object(text, "results");
  Results results{.number = get_uint<std::uint64_t>(json, "number"),
                  .last = get_bool(json, "last"),
                  .cells = {}};
  for (const nlohmann::json& item : get_list(json, "cells", kMaxCells)) {
    MessageFields fields(&item);
    Measurement& cell = results.cells.emplace_back();
    walk_cell(fields, cell);
    if (cell.error.empty() && cell.value <= 0) {
      throw Error(Fault::failed, fmt::format("a value of {} without an error", cell.value),
                  "A measurement has the one or the other.");
    }
  }
  return results;
}

std::string bytes_text(const std::vector<DeviceBytes>& devices) {
  return dump(write_fields(devices));
}

std::vector<DeviceBytes> parse_bytes(std::string_view text) {
  return read_fields<std::vector<DeviceBytes>>(parse_object(text, "bytes"));
}

}  // namespace rdmabench::fabric
