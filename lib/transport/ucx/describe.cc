// What an endpoint of UCX is, and why it failed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "context.h"
#include "rdmabench/transport/ucx/objects.h"
#include "row.h"

namespace rdmabench::inline v1::transport::ucx {
namespace {

/// Joined as libfabric joins its layers.
std::string joined(const std::vector<std::string>& names) {
  return names.empty() ? "unknown" : fmt::format("{}", fmt::join(names, ";"));
}

}  // namespace

std::string Objects::failure() const {
  if (refused_) {
    return "a post of an operation, a length or a list that the endpoint was not opened for, or "
           "outside of a region";
  }
  if (failed_ == UCS_OK) return "nothing failed";
  if (unfit_ != nullptr) return unfit_;
  return fmt::format("UCX {}: {}. Has the peer ended, or the link gone down?", version(),
                     error_text(failed_));
}

Failure Objects::failed_call() const {
  if (refused_ || failed_ == UCS_OK || unfit_ != nullptr) return {};
  return {.library = "UCX", .status = ucs_status_string(failed_)};
}

Description Objects::describe(std::uint64_t /*bytes*/) const {
  std::vector<Resource> taken;
  if (queue_pairs_[0].ep != nullptr) taken = ucx::lanes(queue_pairs_[0].ep);
  const bool all_answered =
      !operations_.any([](OperationCode code) { return !is_from_target(code); });
  const bool writes_alone = !operations_.any([](OperationCode code) { return is_two_sided(code); });
  const bool each_flushed = flushed_from_ == Signal::by_interval;
  const bool delivered = all_answered || (each_flushed && writes_alone);
  const char* const from_environment = std::getenv("UCX_TLS");
  Description description{.backend = std::string(kRow.name),
                          .provider = joined(names_of(taken, &Resource::transport)),
                          .device = joined(names_of(taken, &Resource::device)),
                          .transport = is_active(request_) ? "am" : "ucp",
                          .completion = delivered ? "delivery" : "transmit",
                          .details = {{"library", version()},
                                      {"lanes", quoted_lanes(taken)},
                                      {"ucx_tls", !request_.options.ucx.transports.empty()
                                                      ? request_.options.ucx.transports
                                                  : from_environment != nullptr ? from_environment
                                                                                : "all"},
                                      {"error_mode", "peer"},
                                      {"post_list", "one call a message"}}};
  if (operations_.any(is_plain_write)) {
    description.details.emplace_back(
        "write_completion", each_flushed ? "each by a flush" : "source free; the last by a flush");
  }
  return description;
}

}  // namespace rdmabench::inline v1::transport::ucx
