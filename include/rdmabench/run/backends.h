// The back ends of this build.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/transport/transport.h"

namespace rdmabench::run {

class Worker;  // of this room alone

/// A row of the table of back ends; the functions are those of transport/<name>/backend.h.
struct Backend {
  std::string_view name;
  std::string (*offer)(const transport::EndpointRequest&);
  transport::Choice (*choose)(const transport::EndpointRequest&, std::string_view client_offer,
                              std::string_view server_offer);
  std::vector<transport::DeviceInfo> (*devices)();
  std::unique_ptr<Worker> (*open)(const transport::EndpointRequest&, std::string_view choice);
};

/// The back ends of this build, in order of preference: verbs, ofi, loop.
std::span<const Backend> backends();

/// Throws Error(usage) that lists what there is, or Error(unavailable) for one left out of this
/// build.
const Backend& find_backend(std::string_view name);

}  // namespace rdmabench::run
