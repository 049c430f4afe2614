#include "rdmabench/base/error.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace rdmabench {
namespace {

std::string compose(std::string_view what, std::string_view remedy, int code) {
  std::string text(what);
  if (code != 0) text += ": " + errno_text(code);
  if (!remedy.empty()) text += fmt::format("{} {}", text.ends_with('.') ? "" : ".", remedy);
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

Error::Error(Fault fault, std::string_view what, std::string_view remedy, int code, FailedCall call)
    : std::runtime_error(compose(what, remedy, code)),
      fault_(fault),
      call_(std::move(call)),
      remedy_(remedy) {
  if (code != 0) call_.code = code;
}

Error::Error(const Error& other, const std::string& text)
    : std::runtime_error(text), fault_(other.fault_), call_(other.call_), remedy_(other.remedy_) {}

Error Error::at(std::string_view where) const {
  return {*this, fmt::format("{}: {}", where, what())};
}

}  // namespace rdmabench
