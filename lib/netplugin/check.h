// Checks and measures a network plugin of NCCL: the options, the results and the runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/control/channel.h"
#include "rdmabench/measure/statistics.h"
#include "rdmabench/results/result.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::netplugin {

/// One thing that NCCL relies on.
struct CaseInfo {
  std::string_view id;     ///< "order"
  std::string_view title;  ///< "messages arrive in the order of posting"
};

/// All cases, in the order in which they run.
std::span<const CaseInfo> cases();

/// The reason of every SKIP after `init` has failed.
inline constexpr std::string_view kNotRun = "not run, because init FAILs";

struct CaseResult {
  std::string id{};
  int version = 0;
  Status status = Status::pass;  ///< warn: NCCL works with what was seen
  std::string
      reason{};        ///< why it is not PASS; of a FAIL with the last lines that the plugin wrote
  std::string side{};  ///< which end saw it: "sender", "receiver" or "both"
  double took_ms = 0;
};

enum class Metric : std::uint8_t { latency, bandwidth };

/// One size of one metric. If `error` is not empty, only metric, version, size and iterations are
/// valid.
struct Measurement {
  Metric metric = Metric::latency;
  int version = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t iterations = 0;       ///< round trips, or messages of one epoch
  measure::LatencySummary latency{};  ///< of half round trips
  std::vector<double> bits_per_s{};   ///< of each epoch; the receiver confirmed its end
  std::string error{};
};

struct Options {
  std::string file;
  std::vector<int> versions;  ///< of the interface, 6 to 12; empty: the newest that both sides have
  bool every_version = false;  ///< all that both sides have; `versions` is ignored
  int device = 0;
  std::vector<std::string> only;                              ///< case ids; empty: all cases
  bool conformance = true;                                    ///< run the cases
  bool performance = true;                                    ///< measure
  std::vector<std::uint64_t> sizes{8, 4096, 65536, 1 << 20};  ///< 1 byte to 1 GiB
  std::uint64_t iterations = 200;                             ///< 1 to 10^7
  std::chrono::milliseconds timeout{10000};  ///< of each case and size; 100 ms to 10 minutes
};

inline constexpr int kOldestVersion = 6;  ///< of the plugin interface
inline constexpr int kNewestVersion = 12;
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMaxIterations = 10'000'000;
inline constexpr std::chrono::milliseconds kMinTimeout{100};
inline constexpr std::chrono::milliseconds kMaxTimeout{600'000};

/// What a plugin tells about a device. A property that its interface version lacks is empty.
struct Properties {
  std::optional<std::string> name{};
  std::optional<std::string> pci_path{};
  std::uint64_t guid = 0;
  int pointer_kinds = 0;  ///< bit 0: host memory, bit 1: GPU memory, bit 2: dma-buf
  int speed_mbps = 0;
  int port = 0;
  double latency_us = 0;
  int max_comms = 0;
  int max_receives = 0;
  std::optional<int> global_registration{};
  std::optional<int> force_flush{};
  std::optional<int> device_type{};
  std::optional<int> device_version{};
  std::optional<int> virtual_devices{};  ///< their number
  std::optional<std::uint64_t> max_point_to_point_bytes{};
  std::optional<std::uint64_t> max_collective_bytes{};
  std::optional<int> rail_id{};  ///< -1: none
  std::optional<int> plane_id{};
};

/// What one side found out about its plugin.
struct PluginFacts {
  std::string name;
  std::vector<int> versions;  ///< newest first
  std::vector<Properties> devices;
  std::string trouble;  ///< why no devices are listed
};

struct Check {
  std::string file;
  bool two_processes = false;
  PluginFacts plugin;
  report::Environment environment;
  Options asked;
  std::vector<CaseResult> cases;
  std::vector<Measurement> measurements;
  std::string error;  ///< why the run ended early

  bool failed() const;  ///< whether anything FAILed, was not measured, or the run ended early
};

/// Called before each case and size with what comes next: "v12 order".
using OnProgress = std::function<void(const std::string&)>;

/// Called after each case and size in which the plugin logged or printed anything, with all of it.
using OnLog = std::function<void(const std::string& what, const std::string& text)>;

/// Runs both ends in this process. Each case runs in two threads of a child process, so that a
/// plugin that crashes or hangs ends only that case. Only children load the plugin. The caller must
/// have no other thread, because children are made by fork(2).
///
/// Throws Error(usage) for options out of bounds and for a file that is not a plugin,
/// Error(unavailable) for a plugin that cannot be loaded.
Check check_in_process(const Options& options, const OnProgress& on_progress,
                       const OnLog& on_log = {});

inline constexpr std::uint16_t kDefaultPort = 18517;

/// The client of two processes. The client sends and the server receives. Thread rule and errors as
/// check_in_process(). If the server is lost, the run ends and Check::error says so.
Check check_with(const Options& options, control::Channel& server, const OnProgress& on_progress,
                 const OnLog& on_log = {});

/// Serves one client until it leaves, with the plugin in `file`. All that the client sends is
/// checked: names must be known, numbers within bounds. Throws Error when the client is lost or
/// sends an invalid request. No other thread may run.
void serve(const std::string& file, control::Channel& client,
           const std::function<void(const std::string&)>& tell, const OnLog& on_log = {});

// Writers. JSON: "rdmabench-netplugin/1", docs/schema/.
std::string to_json(const Check& check);
std::string to_csv(const Check& check);  ///< RFC 4180; a line for each case and each size
std::string to_text(const Check& check, bool verbose, std::size_t width = report::kUsualWidth);

}  // namespace rdmabench::inline v1::netplugin
