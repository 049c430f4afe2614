// Prints the options of a Config for the table of docs/api.md, a line for each: its name, what it
// may be, whether verbs, ofi, ucx and loop have it, and what it is; separated by tabs. Which back
// end takes one is asked of the back ends themselves, as a client asks them before it connects.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/endpoints.h"
#include "rdmabench/run/backends.h"
#include "run/options.h"
#include "run/protocol.h"

namespace rdmabench::inline v1::run {
namespace {

/// Of texts, which have no bounds: values that are not the default, of each kind one.
const std::map<std::string, std::vector<std::string>, std::less<>> kTexts{
    {"memory", {"huge", "cuda:0"}},
    {"provider", {"tcp"}},
    {"fabric", {"efa"}},
    {"source_ip", {"127.0.0.1"}},
    {"peer_memory", {"huge"}},
    {"numa", {"none"}},
    {"ucx_tls", {"tcp"}}};

/// What no flag sets just so has no text in the table, and that of --no-watch says the reverse.
const std::map<std::string, std::string, std::less<>> kDescriptions{
    {"shape",
     "what is measured: one message at a time, a stream, one each way, or an open loop [latency]"},
    {"pattern", "a traffic pattern that both programs registered, in place of the shape's loops"},
    {"source_ip",
     "address of this side's endpoints over libfabric [that of the control connection]"},
    {"client_queue_pairs", "UD: the client's queue pairs for all peers [one for each]"},
    {"watch", "watch counters, placement and noise of both sides, which takes 50 ms [true]"}};

/// Config's with other values than the default.
std::vector<Config> changed(const Option& option) {
  std::vector<Config> all;
  const auto add = [&](const auto& set) {
    Config config;
    // Which mapping a GPU's memory has is asked of a GPU's memory alone.
    if (std::string_view(option.name) == "gpu_mapping") config.placement.memory = "cuda:0";
    Place place = option.in(config);
    set(place);
    all.push_back(config);
  };
  Config usual;
  std::visit(
      [&](auto* value) {
        using T = std::remove_pointer_t<decltype(value)>;
        const auto put = [&](const T& other) {
          add([&](Place& place) { *std::get<T*>(place) = other; });
        };
        if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>) {
          if constexpr (std::is_same_v<T, bool>) put(!*value);
          if constexpr (!std::is_same_v<T, bool>) put(true);
        } else if constexpr (std::is_enum_v<T>) {
          for (std::size_t i = 0; i < names_of(T{}).size(); ++i) put(static_cast<T>(i));
        } else if constexpr (std::is_integral_v<T>) {
          const auto least = static_cast<T>(option.bounds.min);
          put(*value == least ? static_cast<T>(least + 1) : least);
        } else if constexpr (std::is_same_v<T, std::string>) {
          const auto found = kTexts.find(option.name);
          if (found == kTexts.end()) return;
          for (const std::string& text : found->second) put(text);
        }
      },
      option.in(usual));
  return all;
}

transport::EndpointRequest request_of(const Config& config) {
  SessionSpec spec{.traffic = config.traffic, .endpoint = config.endpoint};
  spec.max_size = 4096;
  if (spec.endpoint.post_list > 1) spec.traffic.shape = workload::Shape::bandwidth;
  transport::EndpointRequest request = endpoint_request(spec, true);
  request.options.post_list = config.endpoint.post_list;
  request.depth = std::max(request.depth, request.options.post_list);
  request.gid_index = config.placement.gid_index;
  request.memory = config.placement.memory;
  request.numa = config.placement.numa;
  request.fabric = config.placement.fabric;
  request.local_ip = config.placement.source_ip;
  return request;
}

/// Whether the back end refuses it, not for want of a device, or it is another one's own.
bool lacks(std::string_view backend, const transport::EndpointRequest& request) {
  const std::string_view of_service = backend_of(request.options.service);
  if (!of_service.empty() && of_service != backend) return true;
  for (const transport::BackendRow& row : known_backends()) {
    if (row.name != backend && row.has_own_option(request)) return true;
  }
  try {
    if (backend == "ofi" || backend == "ucx") find_backend(backend).offer(request);
    if (backend == "loop") {
      transport::with_endpoint_type(backend, request, [&](auto type) {
        typename decltype(type)::type endpoint(request, "");
      });
    }
  } catch (const Error& error) {
    return std::string_view(error.what()).find("back end has no ") != std::string_view::npos;
  }
  return false;
}

std::string takers(const Option& option) {
  const std::vector<Config> configs = changed(option);
  std::vector<std::string> words;
  for (const std::string_view backend : {"verbs", "ofi", "ucx", "loop"}) {
    const auto refused = static_cast<std::size_t>(
        std::count_if(configs.begin(), configs.end(),
                      [&](const Config& config) { return lacks(backend, request_of(config)); }));
    words.emplace_back(refused == 0 ? "yes" : refused == configs.size() ? "no" : "some");
  }
  return fmt::format("{}", fmt::join(words, "\t"));
}

std::string range(const Bounds& bounds) {
  const auto text = [&](std::int64_t number) {
    return bounds.unit == Unit::bytes || bounds.unit == Unit::limit
               ? format_size(static_cast<std::uint64_t>(number))
           : bounds.unit == Unit::milliseconds
               ? fmt::format("{} s", static_cast<double>(number) / 1000)
               : std::to_string(number);
  };
  return fmt::format("{} to {}", text(bounds.min), text(bounds.max));
}

std::string values(const Option& option) {
  Config config;
  return std::visit(
      [&](auto* value) -> std::string {
        using T = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>) {
          return "true, false";
        } else if constexpr (std::is_enum_v<T>) {
          return fmt::format("{}", fmt::join(names_of(T{}), ", "));
        } else {
          return option.bounds.max == 0 ? "" : range(option.bounds);
        }
      },
      option.in(config));
}

}  // namespace
}  // namespace rdmabench::inline v1::run

int main() {
  using namespace rdmabench::run;
  for_each_option([](const Option& option) {
    const auto own = kDescriptions.find(option.name);
    fmt::print("{}\t{}\t{}\t{}\n", option.name, values(option), takers(option),
               own == kDescriptions.end() ? std::string(option.text) : own->second);
  });
}
