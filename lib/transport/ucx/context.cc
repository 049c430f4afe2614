#include "context.h"

#include <fmt/format.h>
#include <ucs/debug/log_def.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "loaded/library.h"
#include "rdmabench/base/log.h"
#include "row.h"
#include "transport/session_request.h"

namespace rdmabench::inline v1::transport::ucx {
namespace {

/// What UCX said last, of this thread.
thread_local std::array<char, 256> last_words{};
thread_local std::array<char, 256> opening_words{};

/// Contexts that are open or being opened. Without one, what UCX says is of somebody else in this
/// process.
std::atomic<int> listeners{0};

/// In place of UCX's own, which writes to standard output: results may be there.
ucs_log_func_rc_t on_log(const char* /*file*/, unsigned /*line*/, const char* /*function*/,
                         ucs_log_level_t level, const ucs_log_component_config_t* /*component*/,
                         const char* format, va_list arguments) {
  const bool is_complaint = level == UCS_LOG_LEVEL_ERROR || level == UCS_LOG_LEVEL_WARN;
  if (!is_complaint || listeners == 0) return UCS_LOG_FUNC_RC_CONTINUE;
  va_list copy;
  va_copy(copy, arguments);
  std::vsnprintf(last_words.data(), last_words.size(), format, copy);
  va_end(copy);
  log_line([] { return fmt::format("UCX: {}", last_words.data()); });
  return UCS_LOG_FUNC_RC_STOP;
}

void listen_to_ucx() {
  static std::once_flag once;
  std::call_once(once, [] { ucs_log_push_handler(&on_log); });
}

/// While one is made, UCX's messages are taken.
class Listening {
 public:
  Listening() noexcept { ++listeners; }
  Listening& operator=(Listening&&) = delete;
  ~Listening() { --listeners; }
};

using Settings = Handle<ucp_config_t, ucp_config_release>;

/// How often UCX asks whether a peer lives, in whole seconds, and not later than by itself. Who has
/// set it in the environment keeps that.
std::string keepalive(const EndpointRequest& request) {
  if (std::getenv("UCX_KEEPALIVE_INTERVAL") != nullptr) return "";
  const auto share = std::chrono::duration_cast<std::chrono::seconds>(request.timeout / 4);
  return fmt::format("{}s", std::clamp<std::int64_t>(share.count(), 1, 20));
}

/// It comes from a peer too, and UCX reads it.
void check_transports(std::string_view text) {
  constexpr std::size_t kLongest = 256;
  const bool fits = text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
                             c == ',' || c == '^' || c == '\\' || c == ':';
                    });
  if (fits) return;
  throw Error(Fault::usage, "`ucx_tls` that is no list of transports",
              "Write it as UCX_TLS has it: tcp, or rc,ud, or ^posix.");
}

void set(ucp_config_t& settings, const char* name, const std::string& value) {
  if (value.empty()) return;
  check(ucp_config_modify(&settings, name, value.c_str()), Fault::usage,
        fmt::format("UCX_{} '{}'", name, value), "See 'ucx_info -c' for what it may be.");
}

std::uint64_t features_of(const EndpointRequest& request) {
  std::uint64_t features = is_active(request) ? UCP_FEATURE_AM : UCP_FEATURE_TAG;
  const auto one_sided = [](OperationCode code) { return !is_two_sided(code) && !is_atomic(code); };
  if (request.operations.any(one_sided)) features |= UCP_FEATURE_RMA;
  if (request.operations.any(is_atomic)) features |= UCP_FEATURE_AMO64;
  if (request.options.events) features |= UCP_FEATURE_WAKEUP;
  return features;
}

}  // namespace

std::string version() {
  return ucp_get_version_string();
}

std::string error_text(ucs_status_t status) {
  std::string text = ucs_status_string(status);
  if (last_words[0] != '\0') text += fmt::format("; UCX says: {}", last_words.data());
  return text;
}

void check(ucs_status_t status, Fault fault, std::string_view what, std::string_view remedy) {
  if (status == UCS_OK) return;
  throw Error(fault, fmt::format("{} of UCX {}: {}", what, version(), error_text(status)), remedy,
              0,
              {.library = "UCX", .call = std::string(what), .status = ucs_status_string(status)});
}

void check_leave(const EndpointRequest& request) {
  const auto& allowed = session_of(request).allowed_peers;
  if (!allowed) return;
  allowed->check_named(kRow.name, "its addresses do not identify a host to anyone but UCX");
}

Context open_context(const EndpointRequest& request) {
  check_transports(request.options.ucx.transports);
  loaded::ucp.require();
  listen_to_ucx();
  const Listening meanwhile;
  last_words[0] = '\0';
  ucp_config_t* read = nullptr;
  check(ucp_config_read(nullptr, nullptr, &read), Fault::failed, "ucp_config_read()",
        "See the UCX_ variables of the environment.");
  const Settings settings(read);
  set(*settings, "TLS", request.options.ucx.transports);
  set(*settings, "NET_DEVICES", request.device);
  // Off by default, and then shared memory is of no use where a dead peer must end a wait.
  set(*settings, "MM_ERROR_HANDLING", "y");
  set(*settings, "KEEPALIVE_INTERVAL", keepalive(request));
  // The second version of its protocols, usual in newer releases, never completes an atomic over
  // sockets or shared memory (1.18.1).
  if (request.operations.any(is_atomic) && std::getenv("UCX_PROTO_ENABLE") == nullptr) {
    set(*settings, "PROTO_ENABLE", "n");
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED |
                      UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  params.features = features_of(request);
  params.estimated_num_eps = request.options.queue_pairs;
  ucp_context_h context = nullptr;
  check(ucp_init(&params, settings.get(), &context), Fault::unavailable, "ucp_init()",
        "'ucx_info -d' lists what UCX has here; `ucx_tls`, UCX_TLS and `devices` narrow it.");
  opening_words = last_words;
  last_words[0] = '\0';
  ++listeners;
  return Context(context);
}

std::string said_at_opening() {
  return opening_words.data();
}

Worker open_worker(ucp_context_h context) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucp_worker_h worker = nullptr;
  check(ucp_worker_create(context, &params, &worker), Fault::unavailable, "ucp_worker_create()",
        "`ucx_tls` and UCX_TLS say which transports it may take.");
  last_words[0] = '\0';  // of settings that no transport here has
  return Worker(worker);
}

void close_context(ucp_context_h context) noexcept {
  ucp_cleanup(context);
  --listeners;
}

}  // namespace rdmabench::inline v1::transport::ucx
