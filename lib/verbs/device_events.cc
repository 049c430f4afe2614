#include "verbs/device_events.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include "rdmabench/base/error.h"
#include "rdmabench/verbs/device.h"
#include "verbs/setup_error.h"

namespace rdmabench::inline v1::verbs {
namespace {

using About = EventText::About;

constexpr std::array kTexts = std::to_array<EventText>({
    {IBV_EVENT_DEVICE_FATAL, "IBV_EVENT_DEVICE_FATAL", About::device, true, "the device failed"},
    {IBV_EVENT_CQ_ERR, "IBV_EVENT_CQ_ERR", About::queue, true, "a completion queue overran"},
    {IBV_EVENT_SRQ_ERR, "IBV_EVENT_SRQ_ERR", About::queue, true, "the shared receive queue failed"},
    {IBV_EVENT_QP_FATAL, "IBV_EVENT_QP_FATAL", About::queue_pair, true,
     "it failed and is in the error state"},
    {IBV_EVENT_QP_REQ_ERR, "IBV_EVENT_QP_REQ_ERR", About::queue_pair, true,
     "it received an invalid request"},
    {IBV_EVENT_QP_ACCESS_ERR, "IBV_EVENT_QP_ACCESS_ERR", About::queue_pair, true,
     "the peer's request was for memory that it may not use"},
    {IBV_EVENT_PATH_MIG_ERR, "IBV_EVENT_PATH_MIG_ERR", About::queue_pair, true,
     "it could not change to its other path"},
    {IBV_EVENT_QP_LAST_WQE_REACHED, "IBV_EVENT_QP_LAST_WQE_REACHED", About::queue_pair, false,
     "it is in the error state and takes no more of its shared receives"},
    {IBV_EVENT_PORT_ERR, "IBV_EVENT_PORT_ERR", About::port, false, "the link went down"},
    {IBV_EVENT_PORT_ACTIVE, "IBV_EVENT_PORT_ACTIVE", About::port, false, "the link came up"},
    {IBV_EVENT_LID_CHANGE, "IBV_EVENT_LID_CHANGE", About::port, false, "it has another LID"},
    {IBV_EVENT_PKEY_CHANGE, "IBV_EVENT_PKEY_CHANGE", About::port, false,
     "its table of partition keys changed"},
    {IBV_EVENT_GID_CHANGE, "IBV_EVENT_GID_CHANGE", About::port, false, "its table of GIDs changed"},
});

constexpr std::uint32_t bit(std::size_t row) {
  return std::uint32_t{1} << row;
}

static_assert(kTexts.size() <= kMaxEventTexts);

template <class Predicate>
constexpr std::uint32_t rows_where(Predicate predicate) {
  std::uint32_t bits = 0;
  for (std::size_t row = 0; row < kTexts.size(); ++row) {
    if (predicate(kTexts[row])) bits |= bit(row);
  }
  return bits;
}

constexpr std::uint32_t kEnding = rows_where([](const EventText& text) { return text.ends; });
constexpr std::uint32_t kBeyondQueuePairs =
    rows_where([](const EventText& text) { return text.ends && text.about != About::queue_pair; });
constexpr std::uint32_t kLinkDown =
    rows_where([](const EventText& text) { return text.type == IBV_EVENT_PORT_ERR; });
constexpr std::uint32_t kLastRequest =
    rows_where([](const EventText& text) { return text.type == IBV_EVENT_QP_LAST_WQE_REACHED; });

/// ibv_get_async_event() has a device's library look at each event. qedr's prints it to stderr;
/// bnxt_re's takes a shared receive queue's for a queue pair's and writes into it. Source:
/// rdma-core 65, qelr_async_event() and bnxt_re_async_event().
bool library_may_see_events(const ibv_device& device, bool shared_receives) {
  const std::string driver = driver_name(device);
  return driver != "qedr" && (driver != "bnxt_re" || !shared_receives);
}

}  // namespace

std::span<const EventText> event_texts() noexcept {
  return kTexts;
}

DeviceEvents::DeviceEvents(ibv_context& context, std::uint8_t port, bool shared_receives)
    : context_(context),
      port_(port),
      read_(library_may_see_events(*context.device, shared_receives)) {
  const int flags = fcntl(context.async_fd, F_GETFL);
  if (flags >= 0 && fcntl(context.async_fd, F_SETFL, flags | O_NONBLOCK) >= 0) return;
  const int code = errno;
  throw setup_error(SetupCall::any,
                    fmt::format("fcntl(the events of {})", ibv_get_device_name(context.device)),
                    code, {.context = &context});
}

void DeviceEvents::remember(const ibv_async_event& event) noexcept {
  for (std::size_t row = 0; row < kTexts.size(); ++row) {
    const EventText& text = kTexts[row];
    if (text.type != event.event_type) continue;
    if (text.about == About::port && event.element.port_num != port_) return;
    if (text.about == About::queue_pair && (seen_ & bit(row)) == 0) {
      queue_pairs_[row] = event.element.qp->qp_num;
    }
    seen_ |= bit(row);
  }
}

bool DeviceEvents::look() noexcept {
  ibv_async_event event{};
  while (read_ && code_ == 0) {
    errno = 0;
    if (ibv_get_async_event(&context_, &event) != 0) {
      // EIO: the kernel took the device away, and all its events were read.
      if (errno != EAGAIN && errno != EINTR && errno != 0) code_ = errno;
      break;
    }
    remember(event);
    ibv_ack_async_event(&event);
  }
  return code_ != 0 || (seen_ & kEnding) != 0;
}

std::string DeviceEvents::text(bool completion_failed) const {
  const std::uint32_t told = completion_failed ? seen_ & ~kLastRequest : seen_;
  const char* const device = ibv_get_device_name(context_.device);
  std::string text;
  for (std::size_t row = 0; row < kTexts.size(); ++row) {
    if ((told & bit(row)) == 0) continue;
    const About about = kTexts[row].about;
    const std::string where = about == About::queue_pair
                                  ? fmt::format("queue pair {}: ", queue_pairs_[row])
                              : about == About::port ? fmt::format("port {}: ", port_)
                                                     : "";
    text += fmt::format("{}{} ({}{})", text.empty() ? "" : ", ", kTexts[row].name, where,
                        kTexts[row].meaning);
  }
  if (code_ != 0) {
    text += fmt::format("{}no more events (ibv_get_async_event: {})", text.empty() ? "" : ", ",
                        errno_text(code_));
  }
  if (text.empty()) return "";
  const bool link = (seen_ & kLinkDown) != 0 && !beyond_queue_pairs();
  return fmt::format("{} reported {}. {}", device, text,
                     link ? "Check the cable, the switch's port and 'dmesg'."
                          : "Check 'dmesg' for what its driver says.");
}

std::string_view DeviceEvents::fatal() const noexcept {
  for (std::size_t row = 0; row < kTexts.size(); ++row) {
    if (kTexts[row].ends && (seen_ & bit(row)) != 0) return kTexts[row].name;
  }
  return "";
}

bool DeviceEvents::beyond_queue_pairs() const noexcept {
  return code_ != 0 || (seen_ & kBeyondQueuePairs) != 0;
}

}  // namespace rdmabench::inline v1::verbs
