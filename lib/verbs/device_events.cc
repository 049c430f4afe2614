#include "verbs/device_events.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>

#include "rdmabench/base/error.h"
#include "verbs/setup_error.h"

namespace rdmabench::verbs {
namespace {

using About = EventText::About;

constexpr std::array kTexts = std::to_array<EventText>({
    {IBV_EVENT_DEVICE_FATAL, "IBV_EVENT_DEVICE_FATAL", About::device, true, "the device failed"},
    {IBV_EVENT_QP_FATAL, "IBV_EVENT_QP_FATAL", About::queue_pair, true,
     "it failed and is in the error state"},
    {IBV_EVENT_QP_REQ_ERR, "IBV_EVENT_QP_REQ_ERR", About::queue_pair, true,
     "it received an invalid request"},
    {IBV_EVENT_QP_ACCESS_ERR, "IBV_EVENT_QP_ACCESS_ERR", About::queue_pair, true,
     "the peer's request was for memory that it may not use"},
    {IBV_EVENT_PATH_MIG_ERR, "IBV_EVENT_PATH_MIG_ERR", About::queue_pair, true,
     "it could not change to its other path"},
    {IBV_EVENT_CQ_ERR, "IBV_EVENT_CQ_ERR", About::queue, true, "a completion queue overran"},
    {IBV_EVENT_SRQ_ERR, "IBV_EVENT_SRQ_ERR", About::queue, true, "the shared receive queue failed"},
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

constexpr std::uint32_t kEnding = [] {
  std::uint32_t bits = 0;
  for (std::size_t row = 0; row < kTexts.size(); ++row) bits |= kTexts[row].ends ? bit(row) : 0;
  return bits;
}();

}  // namespace

std::span<const EventText> event_texts() noexcept {
  return kTexts;
}

DeviceEvents::DeviceEvents(ibv_context& context, std::uint8_t port)
    : context_(context), port_(port) {
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
    if (text.about == About::queue_pair && queue_pair_ == 0) {
      queue_pair_ = event.element.qp->qp_num;
    }
    seen_ |= bit(row);
  }
}

bool DeviceEvents::look() noexcept {
  ibv_async_event event{};
  while (code_ == 0) {
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

std::string DeviceEvents::text() const {
  const char* const device = ibv_get_device_name(context_.device);
  std::string text;
  for (std::size_t row = 0; row < kTexts.size(); ++row) {
    if ((seen_ & bit(row)) == 0) continue;
    const About about = kTexts[row].about;
    const std::string where = about == About::queue_pair
                                  ? fmt::format("queue pair {}: ", queue_pair_)
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
  const bool link = (seen_ & kEnding) == 0 && code_ == 0;
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

}  // namespace rdmabench::verbs
