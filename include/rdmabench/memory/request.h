// Where messages are to lie, as a caller asks for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmabench::memory {

enum class Kind : std::uint8_t {
  host,    ///< anonymous pages of the usual size
  huge,    ///< pages of hugetlbfs' pool
  file,    ///< a file or a device that can be mapped: persistent memory, a PCIe peer's memory
  dmabuf,  ///< pages of a memfd that also have a dma-buf descriptor (udmabuf)
};

/// "host", "huge", "file", "dmabuf".
std::string_view name(Kind kind) noexcept;

/// On which NUMA node the pages are to lie.
struct Numa {
  enum class Place : std::uint8_t {
    any,   ///< wherever the kernel puts them
    near,  ///< on the RDMA device's node where that is known, else anywhere
    node,  ///< on `number`, or not at all
  };
  Place place = Place::any;
  int number = 0;

  bool operator==(const Numa&) const = default;
};

/// A value; one request can serve for several buffers, see next().
struct Request {
  Kind kind = Kind::host;
  std::uint64_t huge_page_bytes = 0;  ///< of `huge`: a power of two; 0 for the machine's default
  std::string path = {};              ///< of `file`
  std::uint64_t offset = 0;           ///< of `file`: where in it to begin, whole pages
  std::uint64_t unaligned = 0;        ///< bytes from the start of a page to the first byte
  Numa numa = {};
  std::string device = {};  ///< the RDMA device that Place::near means: "mlx5_0"; "" for none

  bool operator==(const Request&) const = default;
};

/// "host", "huge", "huge:2M", "huge:1G", "file:PATH", "file:PATH@OFFSET", "dmabuf" (which is
/// "dmabuf:udmabuf"). Behind the last @ of a path stands an offset when it begins with a digit.
/// Throws Error(usage) that names the text and the right forms, Error(unavailable) for "cuda:N".
Request parse_request(std::string_view text);

/// "auto" (near the device), "none" (anywhere) or a node's number. Throws Error(usage).
Numa parse_numa(std::string_view text);

/// What parse_request() takes back, of the kind alone.
std::string to_text(const Request& request);

/// The request for the buffer after one of `bytes`: in a file it must not lie over the first.
Request next(Request request, std::uint64_t bytes);

}  // namespace rdmabench::memory
