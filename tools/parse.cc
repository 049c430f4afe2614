#include "parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/letters.h"
#include "rdmabench/run/backends.h"

namespace rdmabench::tools {
namespace {

/// The factor of k, M, G and T; 0 for any other text.
double multiple(std::string_view unit) {
  if (unit.empty()) return 1;
  if (unit == "k" || unit == "K") return 1e3;
  if (unit == "M") return 1e6;
  if (unit == "G") return 1e9;
  if (unit == "T") return 1e12;
  return 0;
}

}  // namespace

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
  std::string_view unit = text;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  unit.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (unit.ends_with("/s")) unit.remove_suffix(2);
  const bool bits = unit.ends_with('b');
  if (bits) unit.remove_suffix(1);
  const double times = multiple(unit);
  if (error != std::errc() || times == 0 || !(number > 0) || number * times > 1e15) {
    throw Error(Fault::usage, fmt::format("--rate {}", text),
                "Write messages per second as 200k or 1.5M, payload as 10Gb or 800Mb.");
  }
  (bits ? config.bit_rate : config.rate) = number * times;
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
