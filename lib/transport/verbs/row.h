// The verbs back end, as a build knows it that may lack it.
#pragma once

#include <array>

#include "transport/own_options.h"

namespace rdmabench::inline v1::transport::verbs {

inline constexpr std::array kOwnServices{Service::rc,  Service::uc, Service::ud,
                                         Service::xrc, Service::dc, Service::srd};

inline bool has_own_option(const EndpointRequest& request) {
  return !verbs_option(request).empty() || request.gid_index != kAnyGid ||
         request.operations.any(is_extended);
}

inline constexpr BackendRow kRow{.name = "verbs",
                                 .needs = "libibverbs and librdmacm",
                                 .services = kOwnServices,
                                 .reaches_others = true,
                                 .has_own_option = &has_own_option};

}  // namespace rdmabench::inline v1::transport::verbs
