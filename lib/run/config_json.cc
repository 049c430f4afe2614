#include <fmt/format.h>

#include <algorithm>

#include "rdmabench/base/error.h"
#include "rdmabench/run/config.h"
#include "run/options.h"
#include "run/protocol.h"
#include "run/user_options.h"

namespace rdmabench::inline v1::run {
namespace {

using workload::Shape;

constexpr double kMaxSeconds = 86400;
constexpr double kMaxBitRate = 1e15;
constexpr std::uint64_t kMaxMessages = std::uint64_t{1} << 40;  // of one size

/// Exactly one rule of measure::StopRule.
void read_stop_rule(UserOptions& given, measure::StopRule& rule) {
  constexpr double kShortest = 1e-9;
  const bool iterations = given.has("iterations");
  const bool duration = given.has("duration_s");
  measure::Stability stability;
  given.real("max_noise", 1e-6, 1, stability.max_noise);
  given.seconds("max_time_s", kShortest, kMaxSeconds, stability.max_time);
  stability.min_time = std::min(stability.min_time, stability.max_time);
  given.seconds("min_time_s", 0, kMaxSeconds, stability.min_time);
  const bool stable = given.has("max_noise") || given.has("max_time_s") || given.has("min_time_s");
  given.refuse_others();
  if (int{iterations} + int{duration} + int{stable} != 1) {
    throw Error(Fault::usage, "`stop` has none of its rules, or several",
                "Give `iterations`, or `duration_s`, or some of `max_noise`, `min_time_s` and "
                "`max_time_s`; without `stop` it measures until the result is stable.");
  }
  if (stability.min_time > stability.max_time) {
    throw Error(Fault::usage, "`min_time_s` is more than `max_time_s`",
                fmt::format("`max_time_s` is {} where it is not given.",
                            std::chrono::duration<double>(measure::Stability().max_time).count()));
  }
  if (stable) rule = measure::StopRule::stable(stability);
  if (iterations) {
    std::uint64_t count = 0;
    given.number("iterations", 1, kMaxMessages, count);
    rule = measure::StopRule::iterations(count);
  }
  if (duration) {
    std::chrono::nanoseconds time{0};
    given.seconds("duration_s", kShortest, kMaxSeconds, time);
    rule = measure::StopRule::duration(time);
  }
}

void read_option(UserOptions& given, const Option& option, Config& config) {
  const char* const name = option.name;
  std::visit(
      [&](auto* value) {
        using T = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::chrono::nanoseconds>) {
          given.seconds(name, 0, kMaxSeconds, *value);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          given.texts(name, *value);
        } else if constexpr (std::is_same_v<T, std::vector<std::uint64_t>>) {
          given.sizes(name, *value);
        } else if constexpr (std::is_same_v<T, std::vector<Requirement>>) {
          given.parsed(name, *value, parse_requirements);
        } else {
          walk_option(given, name, *value);
        }
      },
      option.in(config));
}

}  // namespace

Config usual_config(Shape shape) {
  constexpr std::uint64_t kStreamSize = 65536;
  Config config;
  config.traffic.shape = shape;
  if (shape == Shape::bandwidth || shape == Shape::bidirectional) config.sizes = {kStreamSize};
  if (shape == Shape::load) config.traffic.operation = transport::OperationCode::send_imm;
  return config;
}

ClientConfig config_from_json(std::string_view text) {
  UserOptions given(text, "the configuration");
  Shape shape = Shape::latency;
  given.name("shape", workload::kShapeNames, shape);
  ClientConfig client{.config = usual_config(shape), .host = {}};
  Config& config = client.config;
  for_each_option([&](const Option& option) { read_option(given, option, config); });
  // An atomic has the one size that it acts on.
  if (const std::uint64_t bytes = transport::traits(config.traffic.operation).bytes;
      bytes != 0 && !given.has("sizes")) {
    config.sizes = {bytes};
  }
  // As on the command line: a thread for each device.
  config.traffic.threads =
      std::max(config.traffic.threads, static_cast<std::uint32_t>(std::min<std::size_t>(
                                           config.placement.devices.size(), kMaxWorkers)));
  given.authentication(config.authentication);
  given.object("stop", [&](UserOptions& rule) { read_stop_rule(rule, config.stop); });
  given.numbers("counts", std::uint64_t{1}, kMaxMessages, config.counts);
  if (given.has("stop") && !config.counts.empty()) {
    throw Error(Fault::usage, "`stop` and `counts` together",
                "`counts` says how many messages of each size there are: leave out one of them.");
  }
  given.number("warmup", -1, 1U << 30, config.warmup);
  given.seconds("warmup_time_s", 0, kMaxSeconds, config.warmup_time);
  given.numbers("cpus", 0, 1023, config.placement.cpus);
  given.real("rate", 0, kMaxRate, config.rate);
  given.real("bit_rate", 0, kMaxBitRate, config.bit_rate);
  given.seconds("connect_retry_s", 0, kMaxSeconds, config.connect_retry);
  given.text("host", client.host);
  given.number("port", 0, 65535, client.port);
  given.refuse_others();
  check_bounds(config);
  return client;
}

}  // namespace rdmabench::inline v1::run
