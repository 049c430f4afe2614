#include "verbs/setup_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace rdmabench::inline v1::verbs {
namespace {

using namespace setup_fact;

constexpr std::array<std::string_view, kSetupCalls> kNames{"any call",
                                                           "ibv_get_device_list",
                                                           "ibv_open_device",
                                                           "ibv_query_device",
                                                           "ibv_query_port",
                                                           "ibv_query_gid",
                                                           "ibv_alloc_pd",
                                                           "ibv_open_xrcd",
                                                           "ibv_create_comp_channel",
                                                           "ibv_create_cq",
                                                           "ibv_create_srq",
                                                           "ibv_create_qp",
                                                           "ibv_modify_qp to INIT",
                                                           "ibv_modify_qp to RTR",
                                                           "ibv_modify_qp to RTS",
                                                           "ibv_create_ah",
                                                           "rdma_create_event_channel",
                                                           "rdma_create_id",
                                                           "rdma_bind_addr",
                                                           "rdma_listen",
                                                           "rdma_resolve_addr",
                                                           "rdma_resolve_route",
                                                           "rdma_connect",
                                                           "rdma_accept"};

std::string limit_text(int resource, std::string_view what, std::uint64_t unit,
                       std::string_view unit_name) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return "";
  if (limit.rlim_cur == RLIM_INFINITY) return fmt::format("{} unlimited", what);
  return fmt::format("{} limited to {}{}", what, limit.rlim_cur / unit, unit_name);
}

using Facts = std::vector<std::string>;

void add_machine_facts(std::uint32_t facts, const ibv_device* device, Facts& texts) {
  if ((facts & kMemlock) != 0) {
    texts.push_back(limit_text(RLIMIT_MEMLOCK, "locked memory is", 1024, " KiB"));
  }
  if ((facts & kOpenFiles) != 0)
    texts.push_back(limit_text(RLIMIT_NOFILE, "open files are", 1, ""));
  if ((facts & kDeviceFile) != 0 && device != nullptr && device->dev_name[0] != '\0') {
    texts.push_back(look_at(fmt::format("/dev/infiniband/{}", device->dev_name)).text);
  }
  if ((facts & kManagerFile) != 0) texts.push_back(look_at("/dev/infiniband/rdma_cm").text);
}

void add_device_facts(std::uint32_t facts, ibv_context& context, Facts& texts) {
  ibv_device_attr limits{};
  if (ibv_query_device(&context, &limits) != 0) return;
  const auto add = [&](setup_fact::Bit fact, std::string_view name, int value) {
    if ((facts & fact) != 0 && value > 0)
      texts.push_back(fmt::format("the device's {} is {}", name, value));
  };
  add(kMaxPd, "max_pd", limits.max_pd);
  add(kMaxCq, "max_cq", limits.max_cq);
  add(kMaxCqe, "max_cqe", limits.max_cqe);
  add(kMaxQp, "max_qp", limits.max_qp);
  add(kMaxQpWr, "max_qp_wr", limits.max_qp_wr);
  add(kMaxSge, "max_sge", limits.max_sge);
  add(kMaxSrq, "max_srq", limits.max_srq);
  add(kMaxSrqWr, "max_srq_wr", limits.max_srq_wr);
  add(kMaxAh, "max_ah", limits.max_ah);
  add(kMaxReads, "max_qp_rd_atom", limits.max_qp_rd_atom);
  add(kMaxReads, "max_qp_init_rd_atom", limits.max_qp_init_rd_atom);
}

}  // namespace

std::string_view name(SetupCall call) noexcept {
  const auto index = static_cast<std::size_t>(call);
  return kNames[index < kNames.size() ? index : 0];
}

const SetupText* find_setup_text(SetupCall call, int code) noexcept {
  const std::span<const SetupText> texts = setup_texts();
  for (const SetupCall wanted : {call, SetupCall::any}) {
    const auto found = std::find_if(texts.begin(), texts.end(), [&](const SetupText& text) {
      return text.call == wanted && text.code == code;
    });
    if (found != texts.end()) return &*found;
  }
  return nullptr;
}

std::string setup_remedy(SetupCall call, int code, SetupSubject subject) {
  const SetupText* const text = find_setup_text(call, code);
  if (text == nullptr) return "Check 'dmesg' for messages of the driver.";
  Facts facts;
  if (subject.context != nullptr) subject.device = subject.context->device;
  add_machine_facts(text->facts, subject.device, facts);
  if (subject.context != nullptr && text->facts >= kMaxPd) {
    add_device_facts(text->facts, *subject.context, facts);
  }
  std::string remedy = fmt::format("Likely: {}", text->causes);
  if (!facts.empty()) remedy += fmt::format(" ({})", fmt::join(facts, "; "));
  return fmt::format("{}. {}", remedy, text->remedy);
}

Error setup_error(SetupCall call, std::string_view what, int code, SetupSubject subject,
                  Fault fault) {
  const bool manager = call >= SetupCall::create_event_channel;
  Failure failed{.library = manager ? "librdmacm" : "libibverbs"};
  if (call != SetupCall::any) failed.call = name(call).substr(0, name(call).find(' '));
  return {fault, what, setup_remedy(call, code, subject), code, std::move(failed)};
}

int verb_errno(int result) noexcept {
  return result > 0 ? result : errno;
}

DeviceFile look_at(const std::string& path) {
  if (access(path.c_str(), R_OK | W_OK) == 0) return {true, path + " is accessible to this user"};
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return {false, path + " does not exist"};
  return {false, fmt::format("{} is not accessible to user {} (mode {:04o}, owner {}:{})", path,
                             geteuid(), file.st_mode & 07777U, file.st_uid, file.st_gid)};
}

}  // namespace rdmabench::inline v1::verbs
