#include "messages.h"

#include <fmt/format.h>

#include "fabric/schedule.h"
#include "json_fields.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr std::size_t kMaxCells = 4096;  // of one message

void walk_ports(MessageFields& fields, std::vector<std::uint16_t>& ports) {
  fields.numbers("ports", kMaxRails, 1, 65535, ports);
  if (ports.empty()) throw Error(Fault::failed, "a node without a port");
}

}  // namespace

void walk(MessageFields& fields, PlanOrder& order) {
  if (fields.from() == nullptr) return fields.put("plan", write_fields(order.plan));
  order.plan = read_fields<FabricPlan>(get_object(*fields.from(), "plan"));
}

void walk(MessageFields& fields, Ready& ready) {
  walk_words(fields, "rails", ready.rails);
  walk_words(fields, "interfaces", ready.interfaces);
  walk_ports(fields, ready.ports);
  walk_environment(fields, ready.environment);
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

void walk(MessageFields& fields, Results& results) {
  fields.number("number", results.number);
  fields.flag("last", results.last);
  fields.list("cells", kMaxCells, results.cells, [](MessageFields& one, Measurement& cell) {
    walk_cell(one, cell);
    if (one.from() != nullptr && cell.error.empty() && cell.value <= 0) {
      throw Error(Fault::failed, fmt::format("a value of {} without an error", cell.value),
                  "A measurement has the one or the other.");
    }
  });
}

}  // namespace rdmabench::inline v1::fabric
