#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "base/descriptor.h"
#include "base/number.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {
namespace {

constexpr std::size_t kMostSysfsBytes = 65536;

[[noreturn]] void refuse(const std::string& name) {
  throw Error(Fault::usage, fmt::format("read '{}'", name), "Name a file that can be read.", errno);
}

std::string read_all(std::FILE* file, const std::string& name, std::size_t most) {
  std::string text;
  std::array<char, 1U << 16U> part{};
  for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), file)) != 0;) {
    text.append(part.data(), got);
    if (text.size() > most) {
      throw Error(Fault::usage, fmt::format("'{}' is larger than {} MiB", name, most >> 20U),
                  "Give a smaller file.");
    }
  }
  if (std::ferror(file) != 0) refuse(name);
  return text;
}

}  // namespace

FileText read_up_to(int descriptor, std::size_t most) {
  FileText file{.text = std::string(most, '\0')};
  std::size_t size = 0;
  while (size < most) {
    const ssize_t got = read(descriptor, file.text.data() + size, most - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) file.error = errno;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  file.text.resize(size);
  return file;
}

FileText read_file(const std::filesystem::path& path) {
  const Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.get() < 0) return {.text = {}, .error = errno};
  return read_up_to(descriptor.get(), kMostSysfsBytes);
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

std::string read_document(const std::string& path, std::size_t most) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (file == nullptr) refuse(path);
  return read_all(file.get(), path, most);
}

std::string read_standard_input(std::size_t most) {
  return read_all(stdin, "standard input", most);
}

}  // namespace rdmabench::inline v1
