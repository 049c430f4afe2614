// What an endpoint tells of itself, for the report.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "memory/gpu_memory.h"
#include "messages.h"
#include "rdmabench/transport/verbs/core.h"
#include "transport/verbs/write_order.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

using Details = std::vector<std::pair<std::string, std::string>>;

/// "18,19": of each queue pair.
std::string listed(const std::vector<std::uint32_t>& numbers, bool hexadecimal) {
  return hexadecimal ? fmt::format("{:#x}", fmt::join(numbers, ","))
                     : fmt::format("{}", fmt::join(numbers, ","));
}

/// In hexadecimal; one for all where they are alike.
std::string listed_once(std::vector<std::uint32_t> numbers) {
  const bool alike = std::equal(numbers.begin() + 1, numbers.end(), numbers.begin());
  if (alike) numbers.resize(1);
  return listed(numbers, true);
}

/// An acknowledgement of SRD says that the peer's device has the data, and not that they are in its
/// memory.
std::string completion_level(Service service) {
  if (service == Service::srd) return "acknowledged";
  return is_reliable(service) ? "delivery" : "transmit";
}

std::string route_of(const rdmabench::verbs::Registration& registration) {
  return route_text(registration.route, registration.mapping);
}

std::string refused_by(const rdmabench::verbs::Registration& registration) {
  std::string others;
  for (const rdmabench::verbs::RegistrationAttempt& attempt : registration.others) {
    others += fmt::format("{}{}: {}", others.empty() ? "" : "; ",
                          route_text(attempt.route, attempt.mapping), attempt.reason);
  }
  return others;
}

void add_memory(Details& details, const RegisteredSlots& slots) {
  const rdmabench::verbs::Registration& registration = slots.registration();
  details.emplace_back("memory_placement", slots.buffer().placement());
  details.emplace_back("memory_nodes", memory::to_text(slots.buffer().nodes()));
  details.emplace_back("registration", std::string(name(registration.route)));
  details.emplace_back("registration_others", refused_by(registration));
  for (const std::string& note : registration.notes) {
    details.emplace_back("registration_note", note);
  }
}

/// The parts of an endpoint's memory may have taken different routes; where they did, each is
/// named.
void add_gpu_memory(Description& description, const RegisteredSlots& sends,
                    const RegisteredSlots& receives, const RegisteredSlots& window) {
  Details& details = description.details;
  const std::string route = route_of(window.registration());
  const std::string send_route = route_of(sends.registration());
  const std::string receive_route = route_of(receives.registration());
  const bool same = route == send_route && route == receive_route;
  std::vector<std::string>& routes = description.memory_routes;
  for (const std::string& one : {route, send_route, receive_route}) {
    if (std::find(routes.begin(), routes.end(), one) == routes.end()) routes.push_back(one);
  }
  details.emplace_back(
      "memory_route",
      same ? route : fmt::format("{} (sends {}, receives {})", route, send_route, receive_route));
  details.emplace_back("memory_routes_refused", refused_by(window.registration()));
  details.emplace_back("gpu", window.buffer().placement());
  details.emplace_back("gpu_memory", window.buffer().gpu()->facts());
  details.emplace_back("gpu_flush", window.buffer().gpu()->flush_text());
  if (window.buffer().gpu()->staged()) {
    details.emplace_back("memory_on_wire", "pinned host memory, not the GPU's");
  }
  details.emplace_back("registration", std::string(name(window.registration().route)));
}

}  // namespace

void Core::remember(const Address& peer) {
  std::vector<std::uint32_t> numbers;
  std::vector<std::uint32_t> packets;
  std::vector<std::uint32_t> targets;
  std::vector<std::uint32_t> keys;
  for (const QueueAddress& queue : peer.queues) {
    if (plan_.service == Service::dc) targets.push_back(queue.receiver);
    numbers.push_back(queue.qpn);
    packets.push_back(queue.psn);
    keys.push_back(queue.window_key);
  }
  remote_facts_ = {
      {"remote_gid", to_text(peer.gid)},      {"remote_lid", std::to_string(peer.lid)},
      {"remote_qpn", listed(numbers, false)}, {"remote_psn", listed(packets, true)},
      {"remote_rkey", listed_once(keys)},     {"remote_vaddr", fmt::format("{:#x}", peer.window)}};
  if (!targets.empty()) remote_facts_.emplace_back("remote_dctn", listed(targets, false));
}

Description Core::describe(std::uint64_t /*bytes*/) const {
  Description description{.backend = "verbs",
                          .provider = driver_.empty() ? "verbs" : driver_,
                          .device = fmt::format("{}:{}", local_path_.device, local_path_.port),
                          .transport = std::string(name(plan_.service)),
                          .completion = completion_level(plan_.service),
                          .details = {}};
  const auto add = [&description](std::string_view key, std::string value) {
    description.details.emplace_back(key, std::move(value));
  };
  add("link_layer", std::string(name(link_layer_)));
  add("gid", to_text(gid_));
  add("gid_index", std::to_string(local_path_.gid_index));
  if (lid_ != 0) add("lid", std::to_string(lid_));
  add("path", local_path_.reason);
  add("global_header", local_path_.global ? "true" : "false");
  add("mtu", std::to_string(local_path_.mtu));
  if (local_path_.gbps > 0) add("rate_gbps", fmt::format("{:g}", local_path_.gbps));
  if (!local_path_.slower.empty()) add("rate_of", local_path_.slower);
  if (local_path_.bond) add("rate_of_bond", "true");
  add("inline", std::to_string(queues_.inline_bytes));
  if (plan_.service == Service::srd) {
    add("rdma", fmt::format("{}, at most {} bytes",
                            plan_.scalable.writes  ? "read, write"
                            : plan_.scalable.reads ? "read"
                                                   : "none",
                            plan_.scalable.max_rdma_bytes));
  } else if (is_reliable(plan_.service)) {
    add("max_rd_atomic", std::to_string(reads_out_));
  }
  // Queue pairs are a device's own, but for the drivers that do one in software.
  const std::string_view work = driver_ == "rxe" || driver_ == "siw" ? "emulated" : "offloaded";
  add("rdma_write", std::string(work));
  add("rdma_read", std::string(work));
  add("shm_short_cut", "no");
  add("queue_pairs", std::to_string(plan_.local_queue_pairs));
  if (plan_.local_queue_pairs != plan_.queue_pairs) add("peers", std::to_string(plan_.queue_pairs));
  add("depth", std::to_string(plan_.depth));
  add("receives", std::to_string(plan_.receives));
  if (plan_.regions > 1)
    add("memory_regions", fmt::format("{}, one for each queue pair", plan_.regions));
  add("receive_queue", plan_.shared_receives ? "shared" : "one for each queue pair");
  add("completion_queues", plan_.separate_queues ? "sends, receives" : "one");
  add("connected_by", manager_ ? "rdma_cm" : "own exchange");
  add("completions_by", request_.options.events ? "events" : "polling");
  add("post_api", plan_.extended ? "ibv_wr_*" : "ibv_post_send");
  add("relaxed_ordering", relaxed_ordering() ? "true" : "false");
  if (request_.operations.any(is_plain_write) &&
      request_.operations.has(OperationCode::write_imm)) {  // one side polls what the other writes
    add("write_order", std::string(write_order_text(write_order_)));
  }
  if (plan_.post_list > 1) add("post_list", std::to_string(plan_.post_list));
  if (plan_.segments > 1) add("segments", std::to_string(plan_.segments));
  if (plan_.signal_every != request_.signal_every) {
    add("signal_every", std::to_string(plan_.signal_every));
  }
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < plan_.local_queue_pairs; ++i) {
    numbers.push_back(queues_.pairs[i]->qp_num);
  }
  add("qpn", listed(numbers, false));
  if (plan_.service == Service::dc) {
    numbers.clear();
    for (const auto& target : queues_.receivers) numbers.push_back(target->qp_num);
    add("dctn", listed(numbers, false));
  }
  add("psn", listed(first_packets_, true));
  if (link_layer_ == rdmabench::verbs::LinkLayer::ethernet && plan_.names_peers()) {
    numbers.clear();
    for (std::uint32_t i = 0; i < plan_.queue_pairs; ++i) numbers.push_back(flow_label_to_peer(i));
    add("flow_label", listed(numbers, false));
  }
  numbers.clear();
  for (std::uint32_t i = 0; i < plan_.local_queue_pairs; ++i) {
    numbers.push_back(window_.remote_key(i));
  }
  add("rkey", listed_once(numbers));
  add("vaddr", fmt::format("{:#x}", window_.address()));
  for (const auto& fact : remote_facts_) description.details.push_back(fact);
  add("memory", request_.memory);
  if (window_.buffer().gpu() != nullptr) {
    add_gpu_memory(description, sends_, receives_, window_);
  } else {
    add_memory(description.details, window_);
  }
  std::string reduced;
  for (const std::string& note : plan_.reduced) reduced += (reduced.empty() ? "" : "; ") + note;
  if (!reduced.empty()) add("reduced", std::move(reduced));
  return description;
}

}  // namespace rdmabench::inline v1::transport::verbs
