// The receive buffers of libfabric's ofi_rxm, whose number only the environment changes.
#include <rdma/fabric.h>

#include <cstdlib>
#include <string>

#include "base/number.h"
#include "fits.h"
#include "rdmabench/transport/ofi/objects.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

constexpr const char* kVariable = "FI_OFI_RXM_MSG_RX_SIZE";

/// Puts it into the environment for a scope, where it is not.
class LentVariable {
 public:
  explicit LentVariable(std::uint64_t value) : lent_(std::getenv(kVariable) == nullptr) {
    if (lent_) setenv(kVariable, std::to_string(value).c_str(), 0);
  }
  ~LentVariable() {
    if (lent_) unsetenv(kVariable);
  }
  LentVariable& operator=(LentVariable&&) = delete;

 private:
  bool lent_;
};

std::uint64_t begin_libfabric() {
  constexpr std::uint64_t kFew = 128;   // as every other provider has
  constexpr std::uint64_t kOwn = 4096;  // where it cannot read the variable
  const LentVariable lent(kFew);
  const char* const read = std::getenv(kVariable);
  const auto receives = parse_number<std::uint64_t>(read == nullptr ? "" : read).value_or(kOwn);
  fi_info* list = nullptr;
  fi_getinfo(api_version(), nullptr, nullptr, FI_PROV_ATTR_ONLY, nullptr, &list);
  const Info owner(list);
  return receives;
}

}  // namespace

std::uint64_t rxm_receives() {
  static const std::uint64_t receives = begin_libfabric();
  return receives;
}

}  // namespace rdmabench::inline v1::transport::ofi
