// How the memory of an endpoint is registered, by which keys, and what lies within its regions.
#include <fmt/format.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <sys/random.h>

#include <cerrno>

#include "provider_info.h"
#include "rdmabench/base/error.h"
#include "rdmabench/transport/ofi/objects.h"
#include "transport/ofi/gpu_memory.h"
#include "transport/slots.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

/// Memory keys are the caller's to choose unless the provider does (FI_MR_PROV_KEY), and may not
/// repeat within a domain (-FI_ENOKEY). Who knows a key and reaches the endpoint may read and write
/// the memory, so the first is not to be guessed. The others count up from it: random ones of few
/// bits would repeat.
class Keys {
 public:
  explicit Keys(const fi_info& info) {
    if ((info.domain_attr->mr_mode & FI_MR_PROV_KEY) != 0) return;
    const std::size_t bytes = info.domain_attr->mr_key_size;
    if (bytes == 0) {
      throw Error(Fault::unavailable,
                  fmt::format("provider {} has no memory keys (mr_key_size is 0)",
                              info.fabric_attr->prov_name));
    }
    mask_ = ~std::uint64_t{0};
    if (bytes < sizeof mask_) mask_ = (std::uint64_t{1} << (8 * bytes)) - 1;
    if (getrandom(&last_, sizeof last_, 0) != sizeof last_) {
      throw Error(Fault::failed, "getrandom() of a memory key", {}, errno);
    }
  }

  std::uint64_t next() noexcept {
    if (mask_ == 0) return 0;  // the provider's choice
    do {
      last_ = (last_ + 1) & mask_;
    } while (last_ == 0 || last_ == FI_KEY_NOTAVAIL);
    return last_;
  }

 private:
  std::uint64_t mask_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace

void Objects::register_memory() {
  const int mode = info_->domain_attr->mr_mode;
  if ((mode & FI_MR_RAW) != 0) {
    throw Error(Fault::unavailable, call("fi_mr_reg", *info_) + " with raw keys (FI_MR_RAW)",
                "Name another `provider`.");
  }
  Keys keys(*info_);
  const auto registered = [&](memory::Buffer& memory, std::uint64_t access) {
    constexpr int kKeysTried = 16;  // the provider may keep some for itself
    Fid<fid_mr> owner;
    const MemoryRoute route = memory.gpu() != nullptr ? *route_ : MemoryRoute{};
    int result = -FI_ENOKEY;
    for (int i = 0; i < kKeysTried && result == -FI_ENOKEY; ++i) {
      result = ofi::register_memory(*domain_, memory, route, access, keys.next(), owner);
    }
    check(result, fmt::format("fi_mr_regattr of {} bytes", memory.size()), *info_,
          result == -FI_ENOKEY ? "Bring fewer `buffers`: the provider has no more keys for memory."
                               : "Raise 'ulimit -l', or lower `sizes` or `depth`.");
    if ((mode & FI_MR_ENDPOINT) != 0) {
      check(fi_mr_bind(owner.get(), &queue_pairs_[0].ep->fid, 0), "fi_mr_bind", *info_);
      check(fi_mr_enable(owner.get()), "fi_mr_enable", *info_);
    }
    return owner;
  };
  // The peer reads and writes what is registered so, by a key that travels as 64 bits.
  const auto remote = [&](memory::Buffer& memory, std::uint64_t access) {
    Fid<fid_mr> owner = registered(memory, access | FI_REMOTE_READ | FI_REMOTE_WRITE);
    if (fi_mr_key(owner.get()) == FI_KEY_NOTAVAIL) {
      throw Error(Fault::unavailable, call("fi_mr_key", *info_) + ": no key of 64 bits",
                  "Name another `provider`.");
    }
    return owner;
  };
  const bool local = (mode & FI_MR_LOCAL) != 0 || (route_->hmem && (mode & FI_MR_HMEM) != 0);
  void* send_descriptor = nullptr;
  if (local) {
    send_registration_ = registered(send_memory_, FI_SEND | FI_READ | FI_WRITE);
    receive_registration_ = registered(receive_memory_, FI_RECV);
    send_descriptor = fi_mr_desc(send_registration_.get());
    receive_descriptor_ = fi_mr_desc(receive_registration_.get());
    if (operations_.any(is_atomic)) {
      operand_registration_ = registered(operand_memory_, FI_READ | FI_WRITE);
      operand_descriptor_ = fi_mr_desc(operand_registration_.get());
    }
  }
  window_registration_ = remote(window_memory_, 0);
  regions_.push_back({send_region_.data, window_bytes(send_region_, request_), send_descriptor});
  for (memory::Buffer& memory : more_memory_) {
    const std::uint64_t access = local ? FI_SEND | FI_READ | FI_WRITE : 0;
    const Fid<fid_mr>& one = more_registrations_.emplace_back(remote(memory, access));
    regions_.push_back({memory.data(), memory.size(), local ? fi_mr_desc(one.get()) : nullptr});
  }
  ends_.data = send_region_.data;
  ends_.descriptor = send_descriptor;
}

bool Objects::has_regions(const RegionMessage& message, bool two_sided) const noexcept {
  const auto [local, remote, local_at, remote_at, bytes, word] = message;
  return local < regions_.size() && lies_within(local_at, bytes, regions_[local].bytes) &&
         (two_sided || (remote < peer_regions_.size() &&
                        lies_within(remote_at, bytes, peer_regions_[remote].bytes)));
}

Ends Objects::ends_of(const RegionMessage& message, bool two_sided) const noexcept {
  const LocalRegion& here = regions_[message.local];
  const PeerRegion there = two_sided ? PeerRegion{} : peer_regions_[message.remote];
  return {here.data, here.descriptor, there.base, there.key};
}

}  // namespace rdmabench::inline v1::transport::ofi
