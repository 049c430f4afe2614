// Files read whole: small ones of procfs and sysfs, and documents that a user names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1 {

struct FileText {
  std::string text;
  int error = 0;  ///< errno of the call that failed
};

/// Of an open file the first `most` bytes.
FileText read_up_to(int descriptor, std::size_t most);

/// Up to 64 KiB, which is more than procfs and sysfs put into such a file.
FileText read_file(const std::filesystem::path& path);

/// The first line of the file; "" if it cannot be read.
std::string first_line(const std::filesystem::path& path);

/// The number, if the whole text is one without a sign.
std::optional<std::uint64_t> to_number(std::string_view text) noexcept;

std::optional<std::uint64_t> read_number(const std::filesystem::path& path);

/// The names in a folder, sorted; none if it cannot be read, then `error` is an errno.
std::vector<std::string> list_folder(const std::filesystem::path& path, int& error);

/// All of a file or pipe. Throws Error(usage), which names it, where it cannot be read or has more
/// than `most` bytes.
std::string read_document(const std::string& path, std::size_t most = std::size_t{16} << 20);

/// The same of standard input.
std::string read_standard_input(std::size_t most);

}  // namespace rdmabench::inline v1
