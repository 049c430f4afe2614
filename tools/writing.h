// Where a command's results and messages go. Nothing that was measured is lost: a file is written
// beside the old one and takes its name when it is whole, and what cannot be written to a file goes
// to standard output.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/new_file.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::tools {

using rdmabench::check_writable;

/// Names of formats, each with the end of a file's name that stands for it, or "".
using Formats = std::vector<std::pair<std::string_view, std::string_view>>;

/// Where a command's result goes, and in which form.
struct Output {
  std::string format;  ///< "" = by the end of the file's name
  std::string output;  ///< a file; "" = standard output
  std::string json;    ///< a file that gets the same as JSON; "" = none
  bool wide = false;   ///< every column of a table
  Formats formats;     ///< that the command has
};

/// Throws Error(failed) that names the path.
void write_file(const std::string& text, const std::string& path);

/// Standard output is a pipe whose reader is gone, as of `| head`: nobody waits for more.
class NoReader : public Error {
 public:
  using Error::Error;
};

/// At the end of a file that is there. Throws Error(failed) that names the path.
void append(const std::string& text, const std::string& path);

/// Writes to the file, or to standard output where `path` is empty. A text that cannot be written
/// to the file goes to standard output, and Error(failed) is thrown. What standard output did not
/// take is thrown once, as Error(failed) or NoReader, and then forgotten.
void write_text(const std::string& text, const std::string& path = "");

/// write_text() of what the output's format is. A page of HTML that could not be written is not
/// shown on a terminal: `plain` says the same there.
void write_page(const Output& to, const std::string& text,
                const std::function<std::string()>& plain);

/// Writes `text` to the file, if one is named, and then calls `rest`, which writes elsewhere, also
/// where the file could not be written: neither loses the other. Throws Error of either.
void write_too(const std::string& text, const std::string& path, const std::function<void()>& rest);

/// A result to its output, as JSON where that is the format, and as JSON to --json, too.
void write_result(const std::string& text, const std::string& json, const Output& to);

/// At the start of the process: a standard stream that the caller has closed is opened so that what
/// is written to it fails, because the next file or socket would take its number; and a pipe whose
/// reader is gone makes a write fail instead of ending the process.
void prepare_streams();

/// At its end. Throws Error(failed) when standard output could not take all that was printed.
void flush_output();

/// A line on standard error, "rdmabench: ...", without control characters.
void tell(std::string_view text);

/// Names the files of a folder that were left out. Returns the exit code: 2 if there are any.
int tell_left_out(const std::vector<std::string>& why);

}  // namespace rdmabench::inline v1::tools
