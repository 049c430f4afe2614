// Which transports and devices UCX has, and which of them an endpoint took.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "context.h"

namespace rdmabench::inline v1::transport::ucx {
namespace {

/// What print(FILE*) writes.
template <class Print>
std::string printed(Print&& print) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const stream = open_memstream(&text, &size);
  if (stream == nullptr) return "";
  print(stream);
  std::fclose(stream);
  std::string copy(text, size);
  std::free(text);  // NOLINT(cppcoreguidelines-no-malloc)
  return copy;
}

void add(std::vector<Resource>& all, Resource one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
}

/// Whether the library that was loaded is so new, or newer.
bool is_at_least(unsigned major, unsigned minor) {
  unsigned has_major = 0;
  unsigned has_minor = 0;
  unsigned release = 0;
  ucp_get_version(&has_major, &has_minor, &release);
  return has_major > major || (has_major == major && has_minor >= minor);
}

/// ucp_ep_attr_t of UCX 1.14, which older headers lack: newer ones end with more, and the mask says
/// what is asked for.
struct EndpointFacts {
  struct Entry {
    const char* transport;
    const char* device;
  };
  std::uint64_t field_mask;
  std::array<char, UCP_ENTITY_NAME_MAX> name;
  sockaddr_storage local;
  sockaddr_storage remote;
  Entry* entries;
  unsigned count;
  std::size_t entry_size;
};
constexpr std::uint64_t kAskTransports = std::uint64_t{1} << 3;

}  // namespace

std::vector<Resource> read_resources(std::string_view text) {
  std::vector<Resource> all;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    // "#   resource 2  :  md 2  dev 2  flags -- tcp/eth0", "#   lane[0]:  2:tcp/eth0.0 md[2] ..."
    std::size_t begin = std::string_view::npos;
    if (const std::size_t flags = line.find(" flags "); line.find("resource ") < flags) {
      if (flags == std::string_view::npos) continue;
      begin = line.find(' ', flags + std::string_view(" flags ").size()) + 1;
      line = line.substr(begin);
    } else if (const std::size_t lane = line.find("lane["); lane != std::string_view::npos) {
      const std::size_t number = line.find(':', line.find("]:", lane) + 2);
      if (number == std::string_view::npos) continue;
      line = line.substr(number + 1);
      line = line.substr(0, line.find(' '));
      line = line.substr(0, line.rfind('.'));  // behind it the number of the path
    } else {
      continue;
    }
    const std::size_t slash = line.find('/');
    if (slash == std::string_view::npos) continue;
    add(all, {std::string(line.substr(0, slash)), std::string(line.substr(slash + 1))});
  }
  return all;
}

std::vector<Resource> resources(ucp_context_h context) {
  return read_resources(
      printed([&](std::FILE* stream) { ucp_context_print_info(context, stream); }));
}

std::vector<Resource> lanes(ucp_ep_h endpoint) {
  if (!is_at_least(1, 14)) {
    return read_resources(printed([&](std::FILE* stream) { ucp_ep_print_info(endpoint, stream); }));
  }
  constexpr std::size_t kMost = 64;
  std::array<EndpointFacts::Entry, kMost> entries{};
  EndpointFacts facts{};
  static_assert(offsetof(EndpointFacts, local) == offsetof(ucp_ep_attr_t, local_sockaddr));
  static_assert(offsetof(EndpointFacts, remote) == offsetof(ucp_ep_attr_t, remote_sockaddr));
  facts.field_mask = kAskTransports;
  facts.entries = entries.data();
  facts.count = kMost;
  facts.entry_size = sizeof(EndpointFacts::Entry);
  std::vector<Resource> all;
  if (ucp_ep_query(endpoint, reinterpret_cast<ucp_ep_attr_t*>(&facts)) != UCS_OK) return all;
  for (const EndpointFacts::Entry& one :
       std::span(entries).first(std::min<std::size_t>(facts.count, kMost))) {
    if (one.transport != nullptr && one.device != nullptr) add(all, {one.transport, one.device});
  }
  return all;
}

std::vector<std::string> names_of(const std::vector<Resource>& all, std::string Resource::*member) {
  std::vector<std::string> names;
  for (const Resource& one : all) {
    if (std::ranges::find(names, one.*member) == names.end()) names.push_back(one.*member);
  }
  return names;
}

std::string quoted_lanes(const std::vector<Resource>& all) {
  std::vector<std::string> names;
  for (const Resource& one : all) names.push_back(one.transport + '/' + one.device);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace rdmabench::inline v1::transport::ucx
