#include "rendezvous_pmix.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "key_value_store.h"
#include "launch.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "wait.h"

namespace rdmabench::control {
namespace {

constexpr std::chrono::milliseconds kPause{
    20};  // before a key that is not there is asked for again
constexpr std::chrono::seconds kLookUpLimit{1};
constexpr std::chrono::seconds kInquiry{1};  // into who is missing

// Other libraries of this process may put keys too.
constexpr std::string_view kPrefix = "rdmabench.";

std::string full(std::string_view key) {
  return fmt::format("{}{}", kPrefix, key);
}

Place place_of(const PmixClient& client) {
  return {client.rank(), client.size(), this_host(), client.version()};
}

/// Whether the key may appear yet. Of a rank of another node Open MPI 5 says no more than
/// PMIX_ERROR.
bool may_come(pmix_status_t status) {
  return status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_TIMEOUT || status == PMIX_ERROR;
}

}  // namespace

PmixRendezvous::PmixRendezvous(std::unique_ptr<PmixClient> client, Authentication authentication,
                               std::chrono::milliseconds timeout)
    : Rendezvous(place_of(*client)),
      client_(std::move(client)),
      authentication_(std::move(authentication)),
      timeout_(timeout) {}

void PmixRendezvous::put(std::string_view key, std::string_view value) {
  check_put(key, value);
  client_->put(full(key), std::string(value), Deadline::after(timeout_));
}

std::string PmixRendezvous::get(std::uint32_t rank, std::string_view key, Deadline deadline) {
  check_get(rank, key);
  const auto given = deadline.left();
  for (bool afresh = false;; afresh = !afresh) {  // Open MPI 5 finds nothing afresh
    const Deadline attempt =
        Deadline::after(std::min<std::chrono::nanoseconds>(kLookUpLimit, deadline.left()));
    PmixFuture future = client_->get(rank, full(key), afresh, attempt);
    PmixResult result = await(future, attempt);
    if (result.status == PMIX_SUCCESS) return std::move(result.text);
    if (!may_come(result.status)) {
      throw Error(Fault::failed, fmt::format("{} did not put '{}': PMIx_Get: {}", who(rank), key,
                                             client_->status_text(result.status)));
    }
    if (deadline.passed()) {
      throw Error(Fault::failed, fmt::format("{} did not put '{}' within {}", who(rank), key,
                                             duration_text(given)));
    }
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(kPause, deadline.left()));
  }
}

/// Before the fence each rank leaves a mark. A fence that fails does not tell who is missing, and
/// one that a dead rank never reached succeeds for the others where the launcher lets them live.
void PmixRendezvous::barrier(Deadline deadline) {
  const auto given = deadline.left();
  const std::string mark = fmt::format("{}barrier.{}", kPrefix, ++barriers_);
  client_->put(mark, "here", deadline);
  PmixFuture future = client_->fence(deadline);
  const PmixResult result = await(future, deadline);
  const bool done = result.status == PMIX_SUCCESS;
  const std::vector<std::uint32_t> missing = without(mark, !done);
  if (done && missing.empty()) return;
  if (missing.empty()) {
    throw Error(Fault::failed,
                fmt::format("the barrier of all ranks within {}: {}", duration_text(given),
                            client_->status_text(result.status)));
  }
  const std::string names = missing.size() == 1 ? who(missing.front()) : ranks_text(missing);
  throw Error(Fault::failed, done ? fmt::format("{} died before the barrier", names)
                                  : fmt::format("{} did not reach the barrier within {}", names,
                                                duration_text(given)));
}

Authentication PmixRendezvous::authentication(std::string_view key) const {
  return authentication_.is_insecure() ? authentication_ : Authentication::secret(key);
}

/// "rank 3 of n7": the launcher knows the host even of a rank that never came.
std::string PmixRendezvous::who(std::uint32_t rank) {
  const Deadline soon = Deadline::after(kInquiry);
  PmixFuture future = client_->get(rank, PMIX_HOSTNAME, false, soon);
  const PmixResult host = await(future, soon);
  return host.status == PMIX_SUCCESS ? fmt::format("rank {} of {}", rank, printable(host.text, 64))
                                     : fmt::format("rank {}", rank);
}

std::vector<std::uint32_t> PmixRendezvous::without(const std::string& mark, bool afresh) {
  const Deadline soon = Deadline::after(kInquiry);
  // Open MPI 5 finds nothing afresh.
  std::vector<PmixFuture> kept;
  std::vector<PmixFuture> fresh;
  for (std::uint32_t rank = 0; rank < place().size; ++rank) {
    kept.push_back(client_->get(rank, mark, false, soon));
    if (afresh) fresh.push_back(client_->get(rank, mark, true, soon));
  }
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < place().size; ++rank) {
    const bool found = (afresh && await(fresh[rank], soon).status == PMIX_SUCCESS) ||
                       await(kept[rank], soon).status == PMIX_SUCCESS;
    if (!found) missing.push_back(rank);
  }
  return missing;
}

}  // namespace rdmabench::control
