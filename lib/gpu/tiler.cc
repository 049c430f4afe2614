#include "gpu/tiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gpu/copy.h"
#include "rdmabench/base/error.h"

namespace rdmabench::gpu {
namespace {

// The buffer begins with the table's rows; behind them are the periods.
constexpr std::size_t kMostRows = 8192;
constexpr std::size_t kRowBytes = kMostRows * sizeof(Tile);
constexpr std::size_t kPeriodAlignment = 16;

static_assert(kRowBytes + Tiler::kMostPeriod <= kStagingBytes);

}  // namespace

Tiler::Tiler(const Context& context)
    : kernels_(context), staging_(context, kStagingBytes), table_(context, kStagingBytes) {}

/// As many of the first pieces as the buffer holds.
TileTable Tiler::upload(Stream& stream, std::span<const Tiled> pieces, std::uint32_t element) {
  TileTable table{.rows = table_.data(), .element = element};
  std::uint64_t end = kRowBytes;
  for (const Tiled& one : pieces) {
    if (one.period.empty() || one.period.size() > kMostPeriod) {
      throw Error(Fault::usage, fmt::format("a period of {} bytes: it has 1 to {}",
                                            one.period.size(), kMostPeriod));
    }
    if (table.count == kMostRows || end + one.period.size() > staging_.size()) break;
    const Tile row{.data = one.data,
                   .bytes = one.bytes,
                   .period = table_.data() + end,
                   .period_bytes = one.period.size(),
                   .tolerance_ulp = one.tolerance_ulp};
    std::memcpy(staging_.data() + table.count * sizeof row, &row, sizeof row);
    std::memcpy(staging_.data() + end, one.period.data(), one.period.size());
    end += (one.period.size() + kPeriodAlignment - 1) / kPeriodAlignment * kPeriodAlignment;
    table.widest = std::max(table.widest, one.bytes);
    ++table.count;
  }
  enqueue_copy_to_device(stream, table_.data(), staging_, table.count * sizeof(Tile));
  enqueue_copy_to_device(stream, table_.data() + kRowBytes, staging_, end - kRowBytes, kRowBytes);
  return table;
}

void Tiler::write(Stream& stream, std::span<const Tiled> pieces, std::uint32_t element,
                  const Deadline& deadline) {
  while (!pieces.empty()) {
    const TileTable table = upload(stream, pieces, element);
    kernels_.write_tiles(stream, table);
    stream.synchronize(deadline, "writing GPU memory");
    pieces = pieces.subspan(table.count);
  }
}

std::vector<std::size_t> Tiler::find_different(Stream& stream, std::span<const Tiled> pieces,
                                               std::uint32_t element, const Deadline& deadline) {
  std::vector<std::size_t> different;
  for (std::size_t first = 0; first < pieces.size();) {
    const TileTable table = upload(stream, pieces.subspan(first), element);
    kernels_.compare_tiles(stream, table);
    enqueue_copy_from_device(stream, staging_, table_.data(), table.count * sizeof(Tile));
    stream.synchronize(deadline, "the check of GPU memory");
    for (std::size_t i = 0; i < table.count; ++i) {
      Tile row;
      std::memcpy(&row, staging_.data() + i * sizeof row, sizeof row);
      if (row.differs != 0) different.push_back(first + i);
    }
    first += table.count;
  }
  return different;
}

}  // namespace rdmabench::gpu
