#include "rendezvous_pmix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "admission.h"
#include "launch.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "wait.h"

namespace rdmabench::inline v1::control {
namespace {

constexpr std::chrono::milliseconds kPause{
    20};  // before a key that is not there is asked for again
constexpr std::chrono::seconds kLookUpLimit{1};
constexpr std::chrono::seconds kFarewell{5};
constexpr std::chrono::seconds kInquiry{1};  // into where rank 0 is

JobPosition place_of(const PmixClient& client) {
  return {client.rank(), client.size(), this_host(), client.version()};
}

/// Whether the key may appear yet. Of a rank of another node Open MPI 5 says no more than
/// PMIX_ERROR. Between two launches rank 0 is not there.
bool may_come(pmix_status_t status, std::uint32_t launch) {
  return status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_TIMEOUT || status == PMIX_ERROR ||
         (launch > 0 && status == PMIX_ERR_PROC_ENTRY_NOT_FOUND);
}

/// The result, or PMIX_ERR_TIMEOUT when the deadline passes.
PmixResult await(PmixFuture& future, Deadline deadline) {
  if (future.wait_for(deadline.left()) != std::future_status::ready) return {};
  return future.get();
}

/// Runs a call that blocks as long as the server likes. When it takes too long it stays in a thread
/// of its own, with all that it uses.
PmixResult within(Deadline deadline, std::function<pmix_status_t()> call) {
  std::promise<PmixResult> promise;
  PmixFuture future = promise.get_future();
  std::thread([call = std::move(call), promise = std::move(promise)]() mutable {
    promise.set_value({call(), {}, 0});
  }).detach();
  return await(future, deadline);
}

pmix_info_t make_info(const char* key) {
  pmix_info_t info{};
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  return info;
}

pmix_info_t flag(const char* key) {
  pmix_info_t info = make_info(key);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

/// For the server to forget the request by; our own wait is what counts.
pmix_info_t timeout(Deadline deadline) {
  pmix_info_t info = make_info(PMIX_TIMEOUT);
  info.value.type = PMIX_INT;
  info.value.data.integer =
      static_cast<int>(std::chrono::ceil<std::chrono::seconds>(deadline.left()).count()) + 1;
  return info;
}

PmixResult result_of(pmix_status_t status, const pmix_value_t* value) {
  PmixResult result{status, {}, 0};
  if (status != PMIX_SUCCESS || value == nullptr) return result;
  if (value->type == PMIX_STRING && value->data.string != nullptr) result.text = value->data.string;
  if (value->type == PMIX_UINT32) result.number = value->data.uint32;
  return result;
}

/// What a call of PMIx works on until it answers, from a thread of its own; it frees it then. A
/// call that never answers keeps it.
struct Request {
  std::promise<PmixResult> promise;
  pmix_proc_t proc{};
  std::string key;
  std::vector<pmix_info_t> directives;
};

void finish(void* data, PmixResult result) {
  const std::unique_ptr<Request> request(static_cast<Request*>(data));
  request->promise.set_value(std::move(result));
}
// The value stays PMIx's.
void on_value(pmix_status_t status, pmix_value_t* value, void* data) {
  finish(data, result_of(status, value));
}

PmixFuture ask(std::unique_ptr<Request> request,
               const std::function<pmix_status_t(Request& request)>& call) {
  PmixFuture future = request->promise.get_future();
  Request* given = request.release();  // PMIx may have freed it when the call returns
  const pmix_status_t status = call(*given);
  if (status != PMIX_SUCCESS) {  // refused, or done at once: there will be no answer
    finish(given, {status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status, {}, 0});
  }
  return future;
}

}  // namespace

const PmixLibrary* pmix_library() noexcept {
  static const PmixLibrary all;
  return all.is_whole() ? &all : nullptr;
}

PmixClient::PmixClient(const PmixLibrary& library, std::chrono::milliseconds timeout)
    : library_(library) {
  const Deadline deadline = Deadline::after(timeout);
  const auto self = std::make_shared<pmix_proc_t>();
  const PmixResult init =
      within(deadline, [self, call = library.init] { return call(self.get(), nullptr, 0); });
  if (init.status != PMIX_SUCCESS) {
    const std::string why = init.status == PMIX_ERR_TIMEOUT
                                ? fmt::format("no answer within {}", duration_text(timeout))
                                : status_text(init.status);
    throw Error(Fault::failed, fmt::format("PMIx_Init(): {}", why),
                "Is the launcher alive? RDMABENCH_RENDEZVOUS=HOST:PORT works without PMIx.");
  }
  self_ = *self;
  PmixFuture size = get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, false, deadline);
  const PmixResult got = await(size, deadline);
  size_ = got.number;
  if (got.status == PMIX_SUCCESS && self_.rank < size_) return;
  finalize();
  throw Error(Fault::failed, fmt::format("the PMIx server gave rank {} of {} ranks ({})",
                                         self_.rank, size_, status_text(got.status)));
}

PmixClient::~PmixClient() {
  try {
    finalize();
  } catch (const std::exception&) {
    // No thread to be had: the server notices when the process ends.
  }
}

void PmixClient::finalize() {
  within(Deadline::after(kFarewell), [call = library_.finalize] { return call(nullptr, 0); });
}

std::string PmixClient::version() const {
  const std::string text = library_.get_version();
  return text.substr(0, text.find_first_of("(,") - 1);
}

unsigned long PmixClient::major_version() const {
  const std::string text = version();
  return std::strtoul(text.c_str() + std::min(text.find_first_of("0123456789"), text.size()),
                      nullptr, 10);
}

void PmixClient::put(const std::string& key, const std::string& value, Deadline deadline) {
  const auto name = std::make_shared<std::string>(key);
  const auto copy = std::make_shared<std::string>(value);
  const PmixResult result = within(deadline, [name, copy, &library = library_] {
    pmix_value_t packed{};
    packed.type = PMIX_STRING;
    packed.data.string = copy->data();
    const pmix_status_t status = library.put(PMIX_GLOBAL, name->c_str(), &packed);
    return status == PMIX_SUCCESS ? library.commit() : status;
  });
  if (result.status != PMIX_SUCCESS) {
    throw Error(Fault::failed,
                fmt::format("PMIx_Put({}) and PMIx_Commit(): {}", key, status_text(result.status)));
  }
}

PmixFuture PmixClient::get(std::uint32_t rank, const std::string& key, bool afresh,
                           Deadline deadline) {
  auto request = std::make_unique<Request>();
  request->proc = self_;
  request->proc.rank = rank;
  request->key = key;
  request->directives.push_back(timeout(deadline));
#ifdef PMIX_GET_REFRESH_CACHE
  if (afresh) request->directives.push_back(flag(PMIX_GET_REFRESH_CACHE));
#else
  static_cast<void>(afresh);
#endif
  return ask(std::move(request), [this](Request& r) {
    return library_.get_nb(&r.proc, r.key.c_str(), r.directives.data(), r.directives.size(),
                           on_value, &r);
  });
}

std::string PmixClient::status_text(pmix_status_t status) const {
  const char* text = library_.error_string(status);
  return text == nullptr ? std::to_string(status) : text;
}

PmixRendezvous::PmixRendezvous(std::unique_ptr<PmixClient> client, Authentication authentication,
                               std::uint32_t launch)
    : Rendezvous(place_of(*client)),
      client_(std::move(client)),
      authentication_(std::move(authentication)),
      launch_(launch) {}

/// PMIx hands values to ranks of the job alone, so that one of them can be the secret.
Bootstrap PmixRendezvous::meet(std::string_view use, std::uint16_t port, Deadline deadline) {
  // Other libraries of this process may put keys too.
  std::string key = fmt::format("rdmabench.{}", use);
  if (launch_ > 0) key += fmt::format(".{}", launch_);  // the server keeps what was put before
  if (place().rank != 0) return find_rank_0(published_by_rank_0(key, deadline), authentication_);
  Bootstrap found = listen_as_rank_0(port, authentication_);
  client_->put(key, to_text(found.address), deadline);
  return found;
}

std::string PmixRendezvous::published_by_rank_0(const std::string& key, Deadline deadline) {
  const auto given = deadline.left();
  for (bool afresh = false;; afresh = !afresh) {  // Open MPI 5 finds nothing afresh
    const Deadline attempt =
        Deadline::after(std::min<std::chrono::nanoseconds>(kLookUpLimit, deadline.left()));
    PmixFuture future = client_->get(0, key, afresh, attempt);
    PmixResult result = await(future, attempt);
    if (result.status == PMIX_SUCCESS) return std::move(result.text);
    if (!may_come(result.status, launch_)) {
      throw Error(Fault::failed,
                  fmt::format("{} did not say where it listens: PMIx_Get: {}", name_of_rank_0(),
                              client_->status_text(result.status)));
    }
    if (deadline.passed()) {
      throw Error(Fault::failed, fmt::format("{} did not say where it listens within {}",
                                             name_of_rank_0(), duration_text(given)));
    }
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(kPause, deadline.left()));
  }
}

std::string PmixRendezvous::host_of(std::uint32_t rank) {
  const Deadline soon = Deadline::after(kInquiry);
  PmixFuture future = client_->get(rank, PMIX_HOSTNAME, false, soon);
  const PmixResult host = await(future, soon);
  return host.status == PMIX_SUCCESS ? ascii_only(host.text, 64) : "";
}

/// "rank 0 of n7": the launcher knows the host even of a rank that never came.
std::string PmixRendezvous::name_of_rank_0() {
  const std::string host = host_of(0);
  return host.empty() ? "rank 0" : fmt::format("rank 0 of {}", host);
}

}  // namespace rdmabench::inline v1::control
