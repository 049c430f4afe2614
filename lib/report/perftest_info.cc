#include "perftest_info.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "results/facts.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::report {
namespace {

const Fact* find(const Facts& facts, std::string_view name) {
  const auto found =
      std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.name == name; });
  return found == facts.end() ? nullptr : &*found;
}

/// perftest's word for an operation, and the atomic's own.
std::vector<std::string> verb_words(std::string_view operation) {
  if (operation == "send") return {"Send"};
  if (operation == "send-imm") return {"Send_imm"};
  if (operation == "write") return {"RDMA_Write"};
  if (operation == "write-imm") return {"RDMA_Write_imm"};
  if (operation == "read") return {"RDMA_Read"};
  if (operation == "fetch-add") return {"Atomic", "FETCH_AND_ADD"};
  if (operation == "compare-swap") return {"Atomic", "CMP_AND_SWAP"};
  return {terminal_safe(operation)};
}

/// As perftest writes a switch.
constexpr std::string_view on_off(bool value) {
  return value ? "ON" : "OFF";
}

const BandwidthResult* first_bandwidth(const Report& report) {
  const auto* const results = std::get_if<std::vector<BandwidthResult>>(&report.results);
  return results == nullptr || results->empty() ? nullptr : &results->front();
}

}  // namespace

std::optional<std::uint64_t> leading_number(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto status =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10).ec;
  return status == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<std::string> FactReader::text(std::string_view name) const {
  const Fact* fact = find(report_.resolved.details, name);
  if (fact == nullptr) fact = find(report_.config, name);
  if (fact == nullptr) return std::nullopt;
  return terminal_safe(text_of(*fact));
}

std::string FactReader::text(std::string_view name, std::string_view absent) const {
  return text(name).value_or(std::string(absent));
}

std::uint64_t FactReader::number(std::string_view name, std::uint64_t absent) const {
  return leading_number(text(name, "")).value_or(absent);
}

bool FactReader::flag(std::string_view name) const {
  const std::string value = text(name, "");
  return value == "true" || value == "on" || value == "yes";
}

std::vector<LatencyResult> latency_results(const Report& report) {
  if (const auto* plain = std::get_if<std::vector<LatencyResult>>(&report.results)) return *plain;
  std::vector<LatencyResult> results;
  if (const auto* loads = std::get_if<std::vector<LoadResult>>(&report.results)) {
    for (const LoadResult& load : *loads) results.push_back(load.latency);
  }
  return results;
}

bool is_perftest_short(const Report& report) {
  return std::holds_alternative<std::vector<LatencyResult>>(report.results) &&
         find(report.config, "duration_s") != nullptr;
}

PerftestInfo perftest_info(const Report& report) {
  const FactReader facts(report);
  const std::vector<LatencyResult> latency = latency_results(report);
  const BandwidthResult* const bandwidth = first_bandwidth(report);
  const std::string operation = !latency.empty()       ? latency[0].operation
                                : bandwidth != nullptr ? bandwidth->operation
                                                       : facts.text("operation", "");
  const bool of_bandwidth = std::holds_alternative<std::vector<BandwidthResult>>(report.results);
  const bool both_ways = bandwidth != nullptr ? bandwidth->direction == "both_ways"
                                              : of_bandwidth && facts.flag("bidirectional");
  const std::uint64_t post_list = facts.number("post_list", 1);
  PerftestInfo info;
  info.test = verb_words(operation);
  info.from_target = info.test[0] == "RDMA_Read" || info.test[0] == "Atomic";
  const bool receives = both_ways && !info.from_target && info.test[0].starts_with("Send");
  if (both_ways) info.test.emplace_back("Bidirectional");
  if (post_list > 1) info.test.emplace_back("Post List");
  info.test.emplace_back(of_bandwidth ? "BW" : "Latency");

  const std::string device = terminal_safe(report.resolved.device);
  info.device = device.substr(0, device.find(':'));
  info.has_gid = facts.text("gid_index").has_value();
  info.outstanding_reads = facts.number("outstanding_reads", 0);
  if (info.outstanding_reads == 0) info.outstanding_reads = facts.number("max_rd_atomic", 0);
  info.connection_manager = facts.flag("rdma_cm");
  // Several threads have several vectors, which perftest's one line cannot name.
  if (facts.flag("events") &&
      (facts.number("threads", 1) == 1 || facts.text("completion_vector"))) {
    info.completion_vector = facts.number("completion_vector", 0);
  }
  std::string link_type = facts.text("link_layer", "Unknown");
  const std::string transport_type = report.resolved.backend != "verbs"
                                         ? terminal_safe(report.resolved.backend)
                                     : link_type == "iWARP" ? "IW"
                                     : link_type == "EFA"   ? "Unknown"
                                                            : "IB";
  if (link_type == "InfiniBand" || link_type == "EFA") link_type = "IB";

  const auto add = [&info](std::string_view label, std::string_view key, Json value,
                           std::string_view unit = "") {
    info.fields.push_back({label, key, std::move(value), unit});
  };
  const auto add_pair = [&](PerftestField first, PerftestField second) {
    first.begins_pair = true;
    info.fields.push_back(std::move(first));
    info.fields.push_back(std::move(second));
  };
  add_pair({"Dual-port", "Dual_port", "OFF"}, {"Device", "Device", info.device});
  add_pair({"Number of qps", "Number_of_qps", facts.number("queue_pairs", 1)},
           {"Transport type", "Transport_type", transport_type});
  add_pair({"Connection type", "Connection_type", upper(terminal_safe(report.resolved.transport))},
           {"Using SRQ", "Using_SRQ", on_off(facts.flag("shared_receives"))});
  add("PCIe relax order", "PCIe_relax_order", on_off(facts.flag("relaxed_ordering")));
  add("ibv_wr* API", "ibv_wr_API", on_off(facts.text("post_api", "").starts_with("ibv_wr")));
  add("TX depth", "TX_depth", facts.number("depth", bandwidth != nullptr ? bandwidth->depth : 1));
  if (post_list > 1) add("Post List", "Post_List", post_list);
  if (receives) add("RX depth", "RX_depth", facts.number("receives", 0));
  if (of_bandwidth) add("CQ Moderation", "CQ_Moderation", facts.number("signal_every", 1));
  add("Mtu", "Mtu", facts.number("mtu", 0), "[B]");
  add("Link type", "Link_type", link_type);
  if (info.has_gid) add("GID index", "GID_index", facts.number("gid_index", 0));
  if (info.from_target) {
    add("Outstand reads", "Outstand_reads", info.outstanding_reads);
  } else {
    add("Max inline data", "Max_inline_data", facts.number("inline", 0), "[B]");
  }
  add("rdma_cm QPs\t", "rdma_cm_QPs", on_off(info.connection_manager));
  add("", "Use_ROCm_memory", "OFF");
  add("Data ex. method", "Data_ex_method", info.connection_manager ? "rdma_cm" : "Ethernet");
  return info;
}

}  // namespace rdmabench::inline v1::report
