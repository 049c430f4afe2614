// docs/errors.md is written from the tables of the library. After a change of them:
//   RDMABENCH_WRITE_ERRORS_PAGE=1 verbs_test --gtest_filter='ErrorsPage.*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "verbs/completion.h"
#include "verbs/device_events.h"
#include "verbs/setup_error.h"

namespace rdmabench::inline v1::verbs {
namespace {

constexpr std::string_view kIntroduction = R"(# What an error means

Of verbs alone: what libibverbs, librdmacm and a device report. Errors of libfabric, MPI and NCCL have the words of those
libraries. Written from the tables in `lib/verbs/completion.cc`, `device_events.cc` and `setup_texts.cc` by the test `ErrorsPage`; do not
edit it here. Every error text names the call with its arguments, the errno or status, the likely causes, the limits
of this machine and device that have to do with it, and what to try.

## Work completions

What became of a message, from `ibv_poll_cq(3)`. The first failure of a queue pair counts; the ones after it are
flushed.

| status | meaning | likely causes | what to try |
|---|---|---|---|
)";

constexpr std::string_view kEvents = R"(
## What a device reports

Asynchronous events, from `ibv_get_async_event(3)`: a device that has failed completes nothing. They are read where a
wait finds nothing for 10 ms, and when a run ends with an error. An event that ends no run is told in the error of a run
that something else ended: RC survives a link that goes down until its retries are over. A failed completion comes
before the event of its queue pair, which irdma and bnxt_re report whenever one goes into the error state; it comes
after the event if it was only flushed, and after those of the device and of queues.

No events are read on qedr, whose library prints each to stderr, nor on bnxt_re with a shared receive queue, whose
library takes that queue's event for a queue pair's and writes into it (by the source of rdma-core 65). Events that are
not listed are ignored.

| event | of | meaning | ends a run |
|---|---|---|---|
)";

constexpr std::string_view kSetup = R"(
## Set-up calls

What the errno of a call means. "Named" are the facts that the error text adds with their values. A call and errno
that is not listed falls under "any call", at the end, but for registrations of memory, whose errors name the cause
themselves. Errors of `rdma_` calls come from their events as well as from
their return value; a rejection (`RDMA_CM_EVENT_REJECTED`) counts as ECONNREFUSED.

| call | errno | likely causes | named | what to try |
|---|---|---|---|---|
)";

std::string named(std::uint32_t facts) {
  using namespace setup_fact;
  struct Name {
    Bit fact;
    std::string_view text;
  };
  constexpr std::array kNames{Name{kMemlock, "memlock limit"},
                              Name{kOpenFiles, "open files limit"},
                              Name{kDeviceFile, "state of /dev/infiniband/uverbsN"},
                              Name{kManagerFile, "state of /dev/infiniband/rdma_cm"},
                              Name{kMaxPd, "max_pd"},
                              Name{kMaxCq, "max_cq"},
                              Name{kMaxCqe, "max_cqe"},
                              Name{kMaxQp, "max_qp"},
                              Name{kMaxQpWr, "max_qp_wr"},
                              Name{kMaxSge, "max_sge"},
                              Name{kMaxSrq, "max_srq"},
                              Name{kMaxSrqWr, "max_srq_wr"},
                              Name{kMaxAh, "max_ah"},
                              Name{kMaxReads, "max_qp_rd_atom, max_qp_init_rd_atom"}};
  std::string list;
  for (const Name& name : kNames) {
    if ((facts & name.fact) != 0) list += fmt::format("{}{}", list.empty() ? "" : ", ", name.text);
  }
  return list;
}

std::string page() {
  std::string text(kIntroduction);
  for (int status = 0; status < kStatuses; ++status) {
    const StatusText row = explain(static_cast<ibv_wc_status>(status));
    text += fmt::format("| {} `{}` | {} | {} | {} |\n", status, row.name, row.meaning, row.causes,
                        row.remedy);
  }
  text += kEvents;
  for (const EventText& row : event_texts()) {
    constexpr std::array<std::string_view, 4> kAbout{"the device", "the port", "a queue pair",
                                                     "a queue"};
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.name,
                        kAbout[static_cast<std::size_t>(row.about)], row.meaning,
                        row.ends ? "yes" : "no");
  }
  text += kSetup;
  for (const SetupText& row : setup_texts()) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", name(row.call), strerrorname_np(row.code),
                        row.causes, named(row.facts), row.remedy);
  }
  return text;
}

TEST(ErrorsPage, IsWhatTheTablesSay) {
  if (std::getenv("RDMABENCH_WRITE_ERRORS_PAGE") != nullptr) {
    std::ofstream(RDMABENCH_ERRORS_PAGE) << page();
  }
  std::ifstream file(RDMABENCH_ERRORS_PAGE);
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(written == page()) << "write docs/errors.md anew: RDMABENCH_WRITE_ERRORS_PAGE=1 "
                                    "verbs_test --gtest_filter='ErrorsPage.*'";
}

}  // namespace
}  // namespace rdmabench::inline v1::verbs
