#include "contents.h"

#include "collective/stretches.h"
#include "gpu/copy.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::collective::nccl {

/// Null where there are no kernels.
gpu::Tiler* Contents::tiler() {
  if (tiler_ || staging_) return tiler_.get();
  try {
    tiler_ =
        std::make_unique<gpu::Tiler>(stream_.context(), Stretches::kMost, Stretches::kPeriodBytes);
  } catch (const Error& error) {
    if (error.fault() != Fault::unavailable) throw;
    no_kernels_ = error.what();
    staging_.emplace(stream_.context(), gpu::kStagingBytes);
  }
  return tiler_.get();
}

std::vector<gpu::Tiled> Contents::pieces_of(std::span<const Stretch> stretches) const {
  std::vector<gpu::Tiled> pieces;
  pieces.reserve(stretches.size());
  for (const Stretch& one : stretches) {
    pieces.push_back({.data = place_(one),
                      .bytes = one.bytes,
                      .period = one.period,
                      .tolerance_ulp = one.tolerance_ulp});
  }
  return pieces;
}

void Contents::write(std::span<const Stretch> stretches, std::uint32_t element, Deadline deadline) {
  if (gpu::Tiler* const by_kernel = tiler(); by_kernel != nullptr) {
    by_kernel->write(stream_, pieces_of(stretches), element, deadline);
    return;
  }
  std::vector<std::byte> bytes;
  for (const Stretch& one : stretches) {
    bytes.resize(one.bytes);
    write_stretch(one, bytes.data());
    gpu::copy_to_device(stream_, *staging_, place_(one), bytes, deadline);
  }
}

std::vector<std::size_t> Contents::find_different(std::span<const Stretch> stretches,
                                                  std::uint32_t element, Deadline deadline) {
  if (gpu::Tiler* const by_kernel = tiler(); by_kernel != nullptr) {
    return by_kernel->find_different(stream_, pieces_of(stretches), element, deadline);
  }
  std::vector<std::size_t> different;
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    bytes.resize(stretches[i].bytes);
    read(place_(stretches[i]), bytes, deadline);
    if (!holds(stretches[i], bytes.data(), element)) different.push_back(i);
  }
  return different;
}

void Contents::read(gpu::DevicePointer from, std::span<std::byte> to, Deadline deadline) {
  gpu::PinnedHost& staging = tiler() != nullptr ? tiler_->staging() : *staging_;
  gpu::copy_from_device(stream_, staging, to, from, deadline);
}

}  // namespace rdmabench::inline v1::collective::nccl
