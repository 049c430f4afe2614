// The end of a command that measured: it writes the report, closes the session, gives an exit code.
// SIGINT, SIGTERM and SIGHUP end it early: what is finished is written, then it ends with 128 +
// signal.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/event.h"
#include "rdmabench/run/client.h"
#include "rdmabench/run/server.h"

namespace rdmabench::inline v1::tools {

/// From here on a signal that ends the process is named on standard error. Called by main().
void tell_interruption();

/// Called when there is a result that a signal must not lose. From then on the first signal
/// requests the stop of interruption(), and the second one ends the process. Who ignored one of
/// them, as nohup(1) does, still ignores it. Thread rule: any.
void catch_interruption();

std::stop_token interruption();

/// "interrupted by SIGINT"; "" without a signal.
std::string interrupted();

/// The number of that signal, or 0.
int interrupting_signal();

/// 128 + the signal's number after one, else `code`.
int exit_status(int code);

/// Calls `write_and_end` in a thread of its own at the first signal: for a command whose main
/// thread may be in a call that does not return.
class OnInterruption {
 public:
  explicit OnInterruption(std::function<void()> write_and_end);
  ~OnInterruption();
  OnInterruption& operator=(OnInterruption&&) = delete;

 private:
  Event ended_;
  std::thread thread_;
};

/// The error of a run whose rows standard output does not take: its JSON must not pass for that of
/// a whole run.
std::string why_no_rows(const std::exception& unwritten);

/// Whether run_and_write() ended the run because standard output could not be written. Its report
/// has that as its error, and run_and_write() prints it: no Write does.
bool ended_unwritten(const report::Report& report);

/// Prints the error to standard error, unless nobody reads on: NoReader. Returns its exit code, as
/// of SIGPIPE then.
int fail(const std::exception& error);

/// Ends the process with `code` if this object still exists after `limit`, with a line on standard
/// error that says what did not end.
class CloseLimit {
 public:
  CloseLimit(std::chrono::nanoseconds limit, int code);

 private:
  std::jthread watcher_;
};

/// Writes and flushes a report, and returns the exit code for it.
using Write = std::function<int(const report::Report&)>;

/// The text of what a report has more than at the last call: at first what was chosen, then rows.
using More = std::function<std::string(const report::Report&)>;

/// Serves one client, whom the caller trusts: whoever starts a server for one client says by that
/// whom it serves. Calls `listening` before. Returns the exit code.
int serve_one(
    run::ServerConfig config, const std::function<void(std::string_view line)>& tell,
    const std::function<void()>& listening = [] {});

/// Measures against the server at host:port, or within this process over the loop back end. The
/// report is written before the session is closed, which may take config.timeout. `more`, if there
/// is one, goes to standard output as rows are finished, but for the last row, which is left to
/// `write`; where that fails, the run ends. `each_load`: also after each load of a curve, before it
/// is known which is its knee. Returns the exit code.
int run_and_write(const run::Config& config, const std::string& host, std::uint16_t port,
                  const run::OnProgress& on_progress, const Write& write, const More& more = {},
                  bool each_load = false);

}  // namespace rdmabench::inline v1::tools
