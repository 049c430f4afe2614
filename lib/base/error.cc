#include "rdmabench/base/error.h"

#include <fmt/format.h>

#include <cstring>

namespace rdmabench {
namespace {

std::string compose(std::string_view what, std::string_view remedy, int code) {
  std::string text(what);
  if (code != 0) text += ": " + errno_text(code);
  if (!remedy.empty()) text += fmt::format(". {}", remedy);
  return text;
}

}  // namespace

std::string errno_text(int code) {
  char text[128];
  const char* message = strerror_r(code, text, sizeof text);  // the GNU form, which returns it
  const char* name = strerrorname_np(code);
  return name == nullptr ? fmt::format("{} (errno {})", message, code)
                         : fmt::format("{} ({})", message, name);
}

Error::Error(Fault fault, std::string_view what, std::string_view remedy, int code)
    : std::runtime_error(compose(what, remedy, code)),
      fault_(fault),
      code_(code),
      remedy_(remedy) {}

Error::Error(const Error& other, const std::string& text)
    : std::runtime_error(text), fault_(other.fault_), code_(other.code_), remedy_(other.remedy_) {}

Error Error::at(std::string_view where) const {
  return {*this, fmt::format("{}: {}", where, what())};
}

}  // namespace rdmabench
