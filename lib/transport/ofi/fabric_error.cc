#include "fabric_error.h"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include <cstdlib>
#include <utility>

namespace rdmabench::inline v1::transport::ofi {
namespace {

constexpr int kFirstOwnCode = FI_ERRNO_OFFSET;

}  // namespace

std::string fabric_error_text(ssize_t code) {
  const int positive = static_cast<int>(std::abs(code));
  if (positive < kFirstOwnCode) return errno_text(positive);
  return fmt::format("{} (libfabric error {})", fi_strerror(positive), positive);
}

void throw_fabric_error(Fault fault, std::string_view call, ssize_t result,
                        std::string_view remedy) {
  const int positive = static_cast<int>(std::abs(result));
  Failure failed{.library = "libfabric"};
  if (call.starts_with("fi_")) failed.call = call.substr(0, call.find_first_of("( :"));
  if (positive < kFirstOwnCode) throw Error(fault, call, remedy, positive, std::move(failed));
  throw Error(fault, fmt::format("{}: {}", call, fabric_error_text(result)), remedy, 0,
              std::move(failed));
}

}  // namespace rdmabench::inline v1::transport::ofi
