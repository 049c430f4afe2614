#include "task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "case_runner.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::netplugin {
namespace {

constexpr std::size_t kLastLines = 10;
constexpr std::size_t kMaxLine = 500;

constexpr auto kGrace =
    std::chrono::seconds(2);  // a child reports its own timeout within this time

/// A child that ends without a result is a FAIL of the plugin.
TaskResult result_of_child(Child& child, const Deadline& deadline, std::string_view side) {
  bool crashed = true;
  try {
    const std::string text = result_text_of(child, deadline);
    crashed = false;
    return parse<TaskResult>(text);
  } catch (const Error& error) {
    return {.status = Status::fail,
            .crashed = crashed,
            .reason = error.what(),
            .side = std::string(side),
            .values = {}};
  }
}

/// Passes on what the plugin wrote, and adds to a failure that happened here what the parent knows.
void keep_log(const Child& child, const Task& task, TaskResult& result, const OnLog& on_log) {
  const std::string log = child.log();
  if (result.status == Status::fail && !result.peer_ended) {
    // An end that waited may have reported first.
    if (child.handled_crash() && !result.crashed) {
      result.reason = fmt::format("the plugin {}{}: {}", child.delay(), child.at(), result.reason);
    }
    result.reason += last_lines(log);
  }
  if (log.empty() || !on_log) return;
  on_log(task.id == kLook      ? "loading"
         : task.id == kDevices ? "devices"
         : task.is_case()      ? fmt::format("v{} {}", task.version, task.id)
                          : fmt::format("v{} {} of {} bytes", task.version, task.id, task.bytes),
         log);
}

std::string_view name_of(Role role) {
  return role == Role::both ? "both" : role == Role::sender ? "sender" : "receiver";
}

}  // namespace

Task parse_task(std::string_view text) {
  Task task = parse<Task>(text);
  const bool sized = task.id == kLatency || task.id == kBandwidth;
  const bool known = sized ? task.bytes > 0 && task.iterations > 0 : find_case(task.id) != nullptr;
  if (!known) {
    throw Error(Fault::failed, fmt::format("unknown case '{}'", ascii_only(task.id, 64)),
                "Run the same release of rdmabench on both sides.");
  }
  return task;
}

std::string last_lines(std::string_view log) {
  std::vector<std::string> lines;
  for (const std::string_view line : lines_of(log)) {
    if (!line.empty()) lines.push_back(ascii_only(line, kMaxLine));
  }
  if (lines.empty()) return "";
  const std::size_t first = lines.size() - std::min(lines.size(), kLastLines);
  std::string text =
      first == 0 ? ". The plugin wrote: "
                 : fmt::format(". The plugin wrote {} lines, of which the last {}: ", lines.size(),
                               kLastLines);
  return text + fmt::format("{}", fmt::join(lines.begin() + static_cast<std::ptrdiff_t>(first),
                                            lines.end(), " | "));
}

const TaskResult& worse(const TaskResult& a, const TaskResult& b) {
  const auto rank = [](const TaskResult& one) {
    if (one.peer_ended) return 1;  // the other end knows the reason
    if (one.status == Status::fail) return 4;
    return one.status == Status::skip ? 3 : one.status == Status::warn ? 2 : 0;
  };
  return rank(b) > rank(a) ? b : a;
}

TaskResult run_here(const std::string& file, const Task& task, const OnLog& on_log) {
  Child child(
      [&](Pipe& parent, Steps& steps) { return perform(file, task, Role::both, parent, steps); });
  TaskResult result = result_of_child(child, Deadline::after(task.timeout + kGrace), "both");
  keep_log(child, task, result, on_log);
  return result;
}

TaskResults run_with(const std::string& file, const Task& task, Role role,
                     control::Channel& channel, const OnLog& on_log) {
  Child child([&](Pipe& parent, Steps& steps) { return perform(file, task, role, parent, steps); });
  const Deadline deadline = Deadline::after(task.timeout + kGrace);
  const Deadline peer_deadline = Deadline::after(task.timeout + 3 * kGrace);
  std::optional<TaskResult> own;
  std::optional<TaskResult> peer;
  const auto settle = [&](TaskResult result) {
    result.side = name_of(role);
    keep_log(child, task, result, on_log);
    channel.send(CheckMessage::result, to_text(result), peer_deadline);
    own = std::move(result);
  };
  bool closed = false;
  while (!own || !peer) {
    if (!own) {
      const bool over = child.ended();  // asked first: what it sent before that can be read
      const auto frame = child.pipe().receive(std::chrono::milliseconds(1), closed);
      if (frame && frame->kind == FrameKind::message && frame->text.size() <= kMaxFrame) {
        channel.send(CheckMessage::word, frame->text, peer_deadline);
      } else if (frame && frame->kind == FrameKind::result) {
        settle(parse<TaskResult>(frame->text));
      } else if (const bool ended = closed || (over && !frame); ended || deadline.passed()) {
        const std::string what = ended ? child.exit_text() : child.delay();
        settle({.status = Status::fail,
                .crashed = true,
                .reason = fmt::format("the plugin {}{}", what, child.at()),
                .side = {},
                .values = {}});
      }
    } else {
      static_cast<void>(channel.readable(std::chrono::milliseconds(20)));
    }
    // Whatever it sends: endless words are not a result.
    if (own && !peer && peer_deadline.passed()) {
      throw Error(Fault::failed,
                  fmt::format("{} sent no result of {} in time", channel.peer(), task.id),
                  "Check that the process at the other end still runs.");
    }
    // After both results the next message belongs to the next task.
    if (own && peer) break;
    const auto message = channel.receive_ready("message of the other end");
    if (!message) continue;
    if (message->type == CheckMessage::word && message->payload.size() <= kMaxFrame) {
      child.pipe().send(FrameKind::message, message->payload);
    } else if (message->type == CheckMessage::result) {
      peer = parse<TaskResult>(message->payload);
      if (ends(*peer) || peer->peer_ended) child.pipe().send(FrameKind::ended, "");
    } else if (message->type == CheckMessage::abort) {
      throw Error(Fault::failed, fmt::format("{} ended the run: {}", channel.peer(),
                                             ascii_only(message->payload)));
    } else {
      throw Error(
          Fault::failed,
          fmt::format("{} sent an unexpected '{}' of {} bytes during {}", channel.peer(),
                      name_of(message->type.as<CheckMessage>()), message->payload.size(), task.id),
          "Run the same release of rdmabench on both sides.");
    }
  }
  return {std::move(*own), std::move(*peer)};
}

}  // namespace rdmabench::inline v1::netplugin
