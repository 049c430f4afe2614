#include "file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/descriptor.h"
#include "base/number.h"

namespace rdmabench::health {
namespace {

constexpr std::size_t kMostSysfsBytes = 65536;

}  // namespace

FileText read_file(const std::filesystem::path& path) {
  FileText file;
  const Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.get() < 0) {
    file.error = errno;
    return file;
  }
  file.text.resize(kMostSysfsBytes);
  std::size_t size = 0;
  while (size < kMostSysfsBytes) {
    const ssize_t got = read(descriptor.get(), file.text.data() + size, kMostSysfsBytes - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) file.error = errno;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  file.text.resize(size);
  return file;
}

std::string first_line(const std::filesystem::path& path) {
  std::string text = read_file(path).text;
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

std::optional<std::uint64_t> to_number(std::string_view text) noexcept {
  return parse_number<std::uint64_t>(text);
}

std::optional<std::uint64_t> read_number(const std::filesystem::path& path) {
  return to_number(first_line(path));
}

std::vector<std::string> list_folder(const std::filesystem::path& path, int& error) {
  std::vector<std::string> names;
  std::error_code failure;
  std::filesystem::directory_iterator at(path, failure);
  error = failure.value();
  if (failure) return names;
  for (const std::filesystem::directory_iterator end; !failure && at != end;
       at.increment(failure)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace rdmabench::health
