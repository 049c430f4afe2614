// Asynchronous events: what a device says beside its completions.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "state.h"

namespace rdmabench::inline v1::fake_verbs {
namespace {

bool is_of_queue_pair(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return true;
    default:
      return false;
  }
}

std::string driver_of(const ibv_context& context) {
  std::error_code failure;
  const std::filesystem::path folder(context.device->ibdev_path);
  return std::filesystem::read_symlink(folder / "device/driver", failure).filename();
}

}  // namespace

void report(ibv_event_type type, std::uint32_t number) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (type == IBV_EVENT_DEVICE_FATAL) now.dead = true;
  ibv_async_event event{};
  event.event_type = type;
  if (is_of_queue_pair(type)) {
    event.element.qp = now.queue_pairs.at(number);
  } else {
    event.element.port_num = static_cast<int>(number);
  }
  for (FakeContext* const context : now.contexts) {
    if (is_of_queue_pair(type) && event.element.qp->context != &context->context) continue;
    context->reports.push_back(event);
    const char byte = 0;
    if (write(context->report_end, &byte, 1) != 1) violate("a full pipe of events");
  }
}

}  // namespace rdmabench::inline v1::fake_verbs

using namespace rdmabench::fake_verbs;

extern "C" {

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  {
    const std::lock_guard lock(state().mutex);
    if (refused(Call::get_async_event)) return -1;
  }
  char byte = 0;
  if (read(context->async_fd, &byte, 1) != 1) return -1;  // errno is read()'s
  const std::lock_guard lock(state().mutex);
  *event = fake(*context).reports.front();
  fake(*context).reports.pop_front();
  // What two libraries do. Source: rdma-core 65, bnxt_re_async_event(), qelr_async_event().
  const std::string driver = driver_of(*context);
  if (driver == "qede") violate("an event of qedr: its library writes to stderr");
  if (driver == "bnxt_en" && event->event_type == IBV_EVENT_SRQ_ERR) {
    violate("IBV_EVENT_SRQ_ERR of bnxt_re: its library takes the queue for a queue pair");
  }
  if (is_of_queue_pair(event->event_type)) {
    ++static_cast<FakeQueuePair*>(event->element.qp)->unacknowledged;
  }
  return 0;
}

void ibv_ack_async_event(ibv_async_event* event) {
  const std::lock_guard lock(state().mutex);
  if (is_of_queue_pair(event->event_type)) {
    --static_cast<FakeQueuePair*>(event->element.qp)->unacknowledged;
  }
}

}  // extern "C"
