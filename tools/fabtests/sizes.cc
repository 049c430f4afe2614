#include "sizes.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "options.h"
#include "rdmabench/base/error.h"

namespace rdmabench::tools::fabtests {
namespace {

constexpr std::size_t kMostSizes = 10000;

[[noreturn]] void refuse(const std::string& text) {
  throw Error(Fault::usage, fmt::format("invalid -S '{}'", text),
              fmt::format("It may be all, r:first,step,last, l:one,another or 1 to {} bytes.",
                          run::kMaxSize));
}

std::vector<std::uint64_t> parse_list(std::string_view list, const std::string& whole) {
  std::vector<std::uint64_t> numbers;
  for (;;) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), value);
    if (error != std::errc() || value > run::kMaxSize) refuse(whole);
    numbers.push_back(value);
    list.remove_prefix(static_cast<std::size_t>(end - list.data()));
    if (list.empty()) return numbers;
    if (list.front() != ',') refuse(whole);
    list.remove_prefix(1);
  }
}

/// Each power of two up to 8 MiB, and half way to the next.
std::vector<std::uint64_t> all_sizes() {
  constexpr std::uint64_t kLargest = std::uint64_t{8} << 20;
  std::vector<std::uint64_t> sizes{1};
  for (std::uint64_t size = 2; size < kLargest; size *= 2) {
    sizes.push_back(size);
    sizes.push_back(size + size / 2);
  }
  sizes.push_back(kLargest);
  return sizes;
}

std::vector<std::uint64_t> parse_range(const std::string& text) {
  const std::vector<std::uint64_t> range = parse_list(std::string_view(text).substr(2), text);
  if (range.size() != 3 || range[1] == 0 || range[2] < range[0] ||
      (range[2] - range[0]) / range[1] >= kMostSizes) {
    refuse(text);
  }
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = range[0]; size <= range[2]; size += range[1]) sizes.push_back(size);
  return sizes;
}

}  // namespace

std::vector<std::uint64_t> parse_sizes(const std::string& text) {
  if (text == "all") return all_sizes();
  std::vector<std::uint64_t> sizes;
  if (text.starts_with("r:")) {
    sizes = parse_range(text);
  } else if (text.starts_with("l:")) {
    sizes = parse_list(std::string_view(text).substr(2), text);
  } else {
    sizes = parse_list(text, text);
    if (sizes.size() != 1) refuse(text);
  }
  for (const std::uint64_t size : sizes) {
    if (size == 0) throw Skip(Skip::kNoSys, "-S 0: here a message has at least one byte.");
  }
  return sizes;
}

}  // namespace rdmabench::tools::fabtests
