// Values of the command line that the library does not parse.
#pragma once

#include <string>

#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/run/config.h"

namespace rdmabench::tools {

// Each throws Error(usage) that lists what there is.
transport::OperationCode parse_operation(const std::string& text);
transport::Service parse_service(const std::string& text);  ///< in either case: perftest writes RC

/// "200k", "1.5M" messages per second, or "10Gb", "800Mb" (a "/s" may follow) of payload.
void set_rate(run::Config& config, const std::string& text);

/// Sets the back end that --transport needs. Throws Error(usage) where --backend is another one.
void settle_backend(run::Config& config);

}  // namespace rdmabench::tools
