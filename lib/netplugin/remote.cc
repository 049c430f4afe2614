#include "netplugin/check.h"
#include "netplugin/net.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/refuse.h"
#include "case_runner.h"
#include "messages.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/results/result.h"
#include "task.h"

namespace rdmabench::inline v1::netplugin {
namespace {

// Timeout of each message of the set-up, and of a task: both ends know both results when one ends,
// so the next follows at once. Who is silent keeps the others waiting.
constexpr auto kStep = std::chrono::seconds(20);

PluginHello hello(const PluginFacts& plugin) {
  return {cases().size(), plugin.name, plugin.versions, report::collect_environment()};
}

PluginHello receive_hello(control::Channel& peer) {
  return parse<PluginHello>(peer.receive(CheckMessage::hello, Deadline::after(kStep), "greeting"),
                            cases().size());
}

/// The versions that both plugins have, newest first.
std::vector<int> common(const PluginFacts& own, const PluginHello& peer) {
  std::vector<int> both;
  for (const int version : own.versions) {
    if (std::count(peer.versions.begin(), peer.versions.end(), version) > 0)
      both.push_back(version);
  }
  refuse_if(both.empty(),
            fmt::format(
                "the plugins '{}' (here) and '{}' (other end) have no interface version in common",
                own.name, peer.name),
            "Use the same plugin on both sides.");
  return both;
}

}  // namespace

Check check_with(const Options& options, control::Channel& server, const OnProgress& on_progress,
                 const OnLog& on_log) {
  check_options(options);
  Check check;
  check.file = options.file;
  check.two_processes = true;
  check.asked = options;
  check.environment.client = report::collect_environment();
  check.plugin = look(options.file, options.timeout, on_log);
  server.send(CheckMessage::hello, to_text(hello(check.plugin)), Deadline::after(kStep));
  const PluginHello peer = receive_hello(server);
  check.environment.server = peer.environment;
  check.asked.versions = versions_of(options, common(check.plugin, peer));
  try {
    run_all(check, on_progress, [&](const Task& task) {
      server.send(CheckMessage::task, to_text(task), Deadline::after(kStep));
      server.receive(CheckMessage::ready, Deadline::after(kStep), "readiness");
      const TaskResults both = run_with(options.file, task, Role::sender, server, on_log);
      TaskResult result = worse(both.own, both.peer);
      result.values = both.own.values;
      if (result.status == Status::pass) result.side = "both";
      return result;
    });
    server.send(CheckMessage::bye, "", Deadline::after(kStep));
  } catch (const Error& error) {
    check.error = error.what();
  }
  return check;
}

void serve(const std::string& file, control::Channel& client,
           const std::function<void(const std::string&)>& tell, const OnLog& on_log) {
  const PluginHello peer = receive_hello(client);
  const PluginFacts plugin =
      look(file, std::chrono::duration_cast<std::chrono::milliseconds>(kStep), on_log);
  client.send(CheckMessage::hello, to_text(hello(plugin)), Deadline::after(kStep));
  tell(fmt::format("{}: the plugin '{}'", client.peer(), peer.name));
  int tasks = 0;
  int failed = 0;
  for (;;) {
    const control::Message message = client.receive(Deadline::after(kStep), "task");
    if (message.type == CheckMessage::bye) break;
    if (message.type != CheckMessage::task) {
      throw Error(Fault::failed,
                  fmt::format("{} sent an unexpected message instead of a task", client.peer()),
                  "Run the same release of rdmabench on both sides.");
    }
    const Task task = parse_task(message.payload);
    client.send(CheckMessage::ready, "", Deadline::after(kStep));
    const TaskResults both = run_with(file, task, Role::receiver, client, on_log);
    ++tasks;
    const TaskResult& result = worse(both.own, both.peer);
    if (result.status == Status::fail) {
      ++failed;
      tell(
          fmt::format("{}: {} {}: {}", client.peer(), task.id, name(result.status), result.reason));
    }
  }
  tell(fmt::format("{}: {} cases and sizes, {} failed", client.peer(), tasks, failed));
}

}  // namespace rdmabench::inline v1::netplugin
