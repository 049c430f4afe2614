#include "rdmabench/memory/buffer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>

#include "base/number.h"
#include "base/refuse.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::memory {
namespace {

constexpr int kMaxNode = 1023;  // the largest MAX_NUMNODES of the kernel, minus 1

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::uint64_t page_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw Error(Fault::usage, fmt::format("invalid memory '{}': {}", text, why),
              "Write host, huge, huge:2M, huge:1G, file:PATH, file:PATH@OFFSET, dmabuf, cuda:0, "
              "cuda:0000:1b:00.0, cuda:GPU-UUID or cuda:auto; add ',vmm' to any cuda form.");
}

Request parse_huge(std::string_view text, std::string_view size) {
  Request request{.kind = Kind::huge};
  request.huge_page_bytes = parse_size(size);
  if (!std::has_single_bit(request.huge_page_bytes) || request.huge_page_bytes <= page_bytes()) {
    refuse(text, fmt::format("the page size {} is not a power of two above {} bytes", size,
                             page_bytes()));
  }
  return request;
}

Request parse_file(std::string_view text, std::string_view path) {
  Request request{.kind = Kind::file};
  const std::size_t at = path.rfind('@');
  if (at != std::string_view::npos && at + 1 < path.size() && is_digit(path[at + 1])) {
    request.offset = parse_size(path.substr(at + 1));
    path = path.substr(0, at);
  }
  if (path.empty()) refuse(text, "the path is missing");
  if (request.offset % page_bytes() != 0) {
    refuse(text, fmt::format("the offset {} is not a multiple of the page size {}", request.offset,
                             page_bytes()));
  }
  request.path = path;
  return request;
}

bool all_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

/// An index, a PCI address with or without its domain, or a UUID as nvidia-smi(1) prints it.
bool is_gpu(std::string_view text) {
  if (text == "auto" || all_of(text, "0123456789")) return true;
  if (text.starts_with("GPU-") || text.starts_with("MIG-")) return text.size() > 4;
  return text.find(':') != std::string_view::npos && all_of(text, "0123456789abcdefABCDEF:.");
}

Request parse_cuda(std::string_view text, std::string_view rest) {
  Request request{.kind = Kind::cuda};
  const std::size_t comma = rest.find(',');
  const std::string_view mode =
      comma == std::string_view::npos ? std::string_view("plain") : rest.substr(comma + 1);
  if (mode != "plain" && mode != "vmm") refuse(text, "the allocation must be plain or vmm");
  request.vmm = mode == "vmm";
  request.gpu = rest.substr(0, comma);
  if (!is_gpu(request.gpu)) refuse(text, "the GPU is missing or invalid");
  return request;
}

}  // namespace

std::string_view name(Kind kind) noexcept {
  constexpr std::array<std::string_view, 5> kWords{"host", "huge", "file", "dmabuf", "cuda"};
  return kWords[static_cast<std::size_t>(kind)];
}

Request parse_request(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const bool bare = colon == std::string_view::npos;
  const std::string_view rest = bare ? std::string_view() : text.substr(colon + 1);
  if (kind == "host" && bare) return {};
  if (kind == "huge") return bare ? Request{.kind = Kind::huge} : parse_huge(text, rest);
  if (kind == "file") return parse_file(text, rest);
  if (kind == "dmabuf" && (bare || rest == "udmabuf")) return {.kind = Kind::dmabuf};
  if (kind == "cuda") return parse_cuda(text, bare ? "auto" : rest);
  refuse(text, "unknown kind");
}

Numa parse_numa(std::string_view text) {
  if (text == "auto") return {.place = Numa::Place::near};
  if (text == "none") return {.place = Numa::Place::any};
  const int number = parse_number<int>(text).value_or(-1);
  refuse_if(number < 0 || number > kMaxNode, fmt::format("invalid NUMA node '{}'", text),
            fmt::format("Write auto, none or a number from 0 to {}.", kMaxNode));
  return {.place = Numa::Place::node, .number = number};
}

std::string to_text(const Request& request) {
  std::string text(name(request.kind));
  if (request.kind == Kind::huge && request.huge_page_bytes != 0) {
    text += fmt::format(":{}", format_size(request.huge_page_bytes));
  }
  if (request.kind == Kind::file) {
    text += fmt::format(":{}", request.path);
    if (request.offset != 0) text += fmt::format("@{}", format_size(request.offset));
  }
  if (request.kind == Kind::cuda) {
    text += fmt::format(":{}{}", request.gpu, request.vmm ? ",vmm" : "");
  }
  return text;
}

Request next(Request request, std::uint64_t bytes) {
  if (request.kind != Kind::file) return request;
  const std::uint64_t page = page_bytes();
  request.offset += (request.unaligned + bytes + page - 1) / page * page;
  return request;
}

}  // namespace rdmabench::inline v1::memory
