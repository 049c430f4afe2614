// The client of a run: measures against a server.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "rdmabench/results/result.h"
#include "rdmabench/run/config.h"
#include "rdmabench/run/server.h"

namespace rdmabench::inline v1::run {

using OnReport = std::function<void(const report::Report&)>;

/// What run() tells meanwhile, and what ends it early. An exception of a call ends the run and
/// leaves run(). Thread rule: the calls are made by run()'s thread; any thread may request the
/// stop.
struct RunHooks {
  OnProgress on_progress = nullptr;
  /// Once, when both sides are connected: the report so far, without a row. `resolved` says what
  /// was chosen.
  OnReport on_begin = nullptr;
  /// After each row that is finished: the report so far, whose last row is the new one. Of a curve
  /// of loads once, after its last row.
  OnReport on_row = nullptr;
  /// After each load of a curve: the report so far, whose last row is the new one. What is said of
  /// the curve (`saturated`, `knee`, `knee_reliable`, `capacity_ratio`) is set when on_row is
  /// called.
  OnReport on_load = nullptr;
  /// Once, with the finished report, while the session is still open. Closing endpoints depends on
  /// the device's driver and may take long or never end, so write here what must not be lost.
  OnReport on_report = nullptr;
  /// Config::stop is another one, which says when a size is done.
  ///
  /// Ends the run within some 100 ms and one message, as a failure does: the report's `error` says
  /// so, its `failure` has the fault `cancelled`, and a row that was begun is not `complete`.
  /// While both sides still connect, run() throws Cancelled. Only the look-up of a host's name, and
  /// opening and connecting endpoints, are not ended.
  std::stop_token stop = {};
};

/// Measures against the server at host:port. Returns the report once the session is closed.
///
/// Set-up that fails throws Error. Once measuring has begun, a failure ends the run and becomes the
/// report's `error` and `failure`; the sizes that were finished are in it. docs/api.md says which
/// is which. Bad configuration throws Error(usage) before anything is opened. Blocks its thread,
/// which it binds to config.placement.cpus during the run. No single wait is longer than
/// config.timeout.
report::Report run(const Config& config, const std::string& host, std::uint16_t port,
                   const RunHooks& hooks = {});

/// Throws what run() throws where this side lacks a provider or device. Needs no server.
void check_this_side(const Config& config);

/// Throws Error(unavailable), which lists the devices of this machine, where no back end knows one
/// of this name. One that is there and cannot be used yet, as before its port is up, is none of
/// its business; nor is a machine whose devices cannot be listed.
void check_device(const std::string& device);

/// Measures against a server in a thread of this process: the loop back end needs no other host.
/// As any first Server it begins libfabric unless config.backend is another one, which may take
/// some 100 ms: count a time limit from on_begin.
///
/// Where no processors are named on either side and there are enough, each worker of both sides is
/// bound to its own during the run.
///
/// `server` limits the server as any, but has no address, port and authentication of its own: it
/// serves this process alone, and so trusts whatever its client names (`allow` and
/// `allow_providers` are "any", but where libcrypto is missing) and waits as long as that. A
/// provider may take what strangers send to its own port: over ofi_rxm that may end this process.
report::Report run_in_process(const Config& config, const RunHooks& hooks = {},
                              ServerConfig server = {});

}  // namespace rdmabench::inline v1::run
