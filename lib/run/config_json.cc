#include <fmt/format.h>

#include <algorithm>

#include "rdmabench/base/error.h"
#include "rdmabench/run/config.h"
#include "run/user_options.h"
#include "spec_fields.h"

namespace rdmabench::run {
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

void read_own_side(UserOptions& given, Config& config) {
  given.text("backend", config.backend);
  given.texts("devices", config.devices);
  given.number("gid_index", transport::kAnyIpv6Gid, 255, config.gid_index);
  given.authentication(config.authentication);
  given.text("fabric", config.fabric);
  given.text("source_ip", config.source_ip);
  given.text("memory", config.memory);
  given.text("peer_memory", config.peer_memory);
  given.text("numa", config.numa);
  given.numbers("cpus", 0, 1023, config.cpus);
  given.parsed("requirements", config.requirements, parse_requirements);
}

}  // namespace

Config usual_config(Shape shape) {
  constexpr std::uint64_t kStreamSize = 65536;
  Config config;
  config.shape = shape;
  if (shape == Shape::stream || shape == Shape::duplex) config.sizes = {kStreamSize};
  if (shape == Shape::open_loop) config.operation = transport::OperationCode::send_imm;
  return config;
}

ClientConfig config_from_json(std::string_view text) {
  UserOptions given(text, "the configuration");
  Shape shape = Shape::latency;
  given.name("shape", kShapes, shape);
  ClientConfig client{.config = usual_config(shape), .host = {}};
  Config& config = client.config;
  walk_shared(given, config);
  // An atomic has the one size that it acts on.
  if (const std::uint64_t bytes = transport::traits(config.operation).bytes; bytes != 0) {
    config.sizes = {bytes};
  }
  given.sizes("sizes", kMaxSize, config.sizes);
  given.object("stop", [&](UserOptions& rule) { read_stop_rule(rule, config.stop); });
  given.numbers("counts", std::uint64_t{1}, kMaxMessages, config.counts);
  given.number("warmup", -1, 1U << 30, config.warmup);
  given.seconds("warmup_time_s", 0, kMaxSeconds, config.warmup_time);
  read_own_side(given, config);
  // As on the command line: a thread for each device.
  config.workers = std::max(config.workers, static_cast<std::uint32_t>(std::min<std::size_t>(
                                                config.devices.size(), kMaxWorkers)));
  given.real("rate", 0, kMaxRate, config.rate);
  given.real("bit_rate", 0, kMaxBitRate, config.bit_rate);
  given.seconds("interval_s", 0, kMaxSeconds, config.interval);
  given.seconds("connect_retry_s", 0, kMaxSeconds, config.connect_retry);
  given.seconds("timeout_s", 0.1, 600, config.timeout);
  given.text("host", client.host);
  given.number("port", 0, 65535, client.port);
  given.refuse_others();
  return client;
}

}  // namespace rdmabench::run
