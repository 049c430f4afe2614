#include "gpu/tiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gpu/copy.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::gpu {
namespace {

constexpr std::size_t kPeriodAlignment = 8;

}  // namespace

// The buffer begins with the table's rows; behind them are the periods.
Tiler::Tiler(const Context& context, std::size_t pieces, std::size_t period_bytes)
    : pieces_(pieces),
      row_bytes_(pieces * sizeof(Tile)),
      kernels_(context),
      staging_(context, row_bytes_ + period_bytes),
      table_(context, row_bytes_ + period_bytes) {}

/// As many of the first pieces as the buffer holds.
TileTable Tiler::upload(Stream& stream, std::span<const Tiled> pieces, std::uint32_t element) {
  TileTable table{.rows = table_.data(), .element = element};
  std::uint64_t end = row_bytes_;
  for (const Tiled& one : pieces) {
    if (one.period.empty() || row_bytes_ + one.period.size() > staging_.size()) {
      throw Error(Fault::usage, fmt::format("a period of {} bytes: it has 1 to {}",
                                            one.period.size(), staging_.size() - row_bytes_));
    }
    if (table.count == pieces_ || end + one.period.size() > staging_.size()) break;
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
  enqueue_copy_to_device(stream, table_.data() + row_bytes_, staging_, end - row_bytes_,
                         row_bytes_);
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

}  // namespace rdmabench::inline v1::gpu
