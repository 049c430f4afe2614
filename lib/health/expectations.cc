#include "rdmabench/health/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.h"
#include "base/refuse.h"
#include "base/text.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::health {
namespace {

/// "none", or ascending priorities: "3", "3+4".
bool is_priorities(std::string_view value) {
  if (value == "none") return true;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (i % 2 == 0 ? c < '0' || c > '7' || (i > 0 && c <= value[i - 2]) : c != '+') return false;
  }
  return value.size() % 2 == 1;
}

/// Separated by commas, none of them empty.
bool is_names(std::string_view value) {
  const std::vector<std::string_view> names = split(value, ',');
  return std::none_of(names.begin(), names.end(),
                      [](std::string_view name) { return trimmed(name).empty(); });
}

bool is_devices(std::string_view value) {
  const bool named = value.find_first_not_of("0123456789") != std::string_view::npos;
  return named ? is_names(value) && !value.starts_with('-') : to_number(value).has_value();
}

bool is_fec(std::string_view value) {
  constexpr std::array<std::string_view, 4> kModes{"rs", "baser", "llrs", "none"};
  const std::vector<std::string_view> words = split(value, ',');
  return std::all_of(words.begin(), words.end(), [&](std::string_view word) {
    return std::find(kModes.begin(), kModes.end(), word) != kModes.end();
  });
}

constexpr std::array kKeys = std::to_array<ExpectationKey>({
    {"devices", "RDMA devices: how many, or the names of those in use", false, true, is_devices},
    {"ports", "the ports in use, separated by commas: mlx5_0:1,mlx5_2:1", false, true, is_names},
    {"rails", "ports in use", true, true},
    {"gpus", "GPUs", true, false},
    {"nodes", "nodes that this one will talk to", true, false},
    {"rate_gbps", "rate of every port, Gb/s", true, true},
    {"link_layer", "InfiniBand or Ethernet", false, true},
    {"mtu", "active MTU of every port, bytes", true, true},
    {"gid_index", "index of the RoCE v2 GID to use", true, true},
    {"tos", "type of service of RoCE, 0 to 255", true, true},
    {"priority", "lossless priority, 0 to 7", true, true},
    {"trust", "dscp or pcp", false, true},
    {"pfc", "priorities with flow control: 3, or 3+4, or none", false, true, is_priorities},
    {"fec", "forward error correction of every Ethernet port: rs, baser, llrs or none", false, true,
     is_fec},
    {"module", "kind, vendor and part of the ports' modules", false, true},
    {"rx_ring", "receive ring of the ports' network devices", true, true},
    {"firmware", "firmware of the devices; several separated by commas", false, true},
    {"driver", "version of the devices' kernel module", false, true},
    {"kernel", "release of the kernel", false, false},
    {"os", "name of the operating system's release", false, false},
    {"bios", "version of the BIOS", false, false},
    {"cpu", "model of the processor", false, false},
    {"gpu_driver", "version of the GPUs' kernel module", false, false},
    {"mig", "division of NVIDIA's GPUs: on or off", false, false},
    {"hugepages", "free huge pages of the default size", true, false},
    {"numa_nodes", "NUMA nodes with CPUs", true, false},
    {"memlock_bytes", "limit of locked memory", true, false},
});

std::string known_keys() {
  std::string text;
  for (const ExpectationKey& key : kKeys)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", key.name);
  return text;
}

std::string value_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::span<const ExpectationKey> expectation_keys() {
  return kKeys;
}

void Expectations::add(std::string_view key, std::string value, Source source) {
  const auto* const known = std::find_if(
      kKeys.begin(), kKeys.end(), [&](const ExpectationKey& row) { return row.name == key; });
  refuse_if(known == kKeys.end(), fmt::format("unknown expectation '{}'", key),
            fmt::format("Known are {}.", known_keys()));
  if (value.empty() || (known->number && !to_number(value))) {
    throw Error(Fault::usage, fmt::format("invalid value '{}' of {}", value, key),
                known->number ? "Give a whole number." : "Give a text.");
  }
  if (known->takes != nullptr && !known->takes(value)) {
    throw Error(Fault::usage, fmt::format("invalid value '{}' of {}", value, key),
                fmt::format("It is for {}.", known->meaning));
  }
  const auto found = values_.find(key);
  if (found != values_.end() && found->second.source == Source::user && source != Source::user)
    return;
  values_[std::string(key)] = {std::move(value), source};
}

void Expectations::add_user(std::string_view text) {
  const std::size_t equals = text.find('=');
  refuse_if(equals == std::string_view::npos,
            fmt::format("invalid expectation '{}': it is not KEY=VALUE", text),
            "Say rate_gbps=400, for one.");
  add(text.substr(0, equals), std::string(text.substr(equals + 1)), Source::user);
}

void Expectations::add_profile(std::string_view json, std::string_view origin) {
  const nlohmann::json document = nlohmann::json::parse(json, nullptr, false);
  refuse_if(!document.is_object(), fmt::format("{} is not a JSON object", origin),
            "A profile is {\"rate_gbps\": 400, ...}.");
  for (const auto& [key, value] : document.items()) {
    if (key == "schema" || key == "comment" || key == "expect") continue;
    refuse_if(!value.is_string() && !value.is_number_unsigned(),
              fmt::format("{}: the value of {} is neither text nor a whole number", origin, key));
    add(key, value_text(value), Source::profile);
  }
}

const Expectation* Expectations::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

}  // namespace rdmabench::inline v1::health
