#include "parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "quantity.h"
#include "rdmabench/run/backends.h"

namespace rdmabench::tools {

transport::OperationCode parse_operation(const std::string& text) {
  const auto& names = transport::kOperationNames;
  const auto* const found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    throw Error(Fault::usage, fmt::format("unknown operation '{}'", text),
                fmt::format("Choose --op {}.", fmt::join(names, ", ")));
  }
  return static_cast<transport::OperationCode>(found - names.begin());
}

transport::Service parse_service(const std::string& text) {
  const auto& names = transport::kServiceNames;
  const auto* const found = std::find(names.begin(), names.end(), lower(text));
  if (found == names.end()) {
    throw Error(Fault::usage, fmt::format("unknown transport '{}'", text),
                fmt::format("Choose --transport {}.", fmt::join(names, ", ")));
  }
  return static_cast<transport::Service>(found - names.begin());
}

void set_rate(run::Config& config, const std::string& text) {
  std::string_view amount = text;
  if (amount.ends_with("/s")) amount.remove_suffix(2);
  const bool bits = amount.ends_with('b');
  if (bits) amount.remove_suffix(1);
  const bool bytes = amount.ends_with('B');  // and not a billion
  const double rate = bytes ? 0 : quantity_of(amount).value_or(0);
  if (!(rate > 0) || rate > 1e15) {
    throw Error(Fault::usage, fmt::format("invalid --rate '{}'", text),
                "Write messages per second as 200k or 1.5M, payload as 10Gb or 800Mb.");
  }
  (bits ? config.bit_rate : config.rate) = rate;
}

void settle_backend(run::Config& config) {
  const std::string_view needed = run::backend_of(config.service);
  if (needed.empty() || !run::reaches_others(config.backend)) return;
  if (config.backend != "auto" && config.backend != needed) {
    throw Error(Fault::usage,
                fmt::format("--transport {} with --backend {}", transport::name(config.service),
                            config.backend),
                fmt::format("Add --backend {}, or leave one of them out.", needed));
  }
  config.backend = needed;
}

}  // namespace rdmabench::tools
