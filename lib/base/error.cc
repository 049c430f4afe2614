#include "rdmabench/base/error.h"

#include <fmt/format.h>

#include <cstring>

namespace rdmabench::inline v1 {
namespace {

std::string compose(std::string_view what, std::string_view remedy, int code) {
  std::string text(what);
  if (code != 0) text += ": " + errno_text(code);
  if (!remedy.empty()) text += fmt::format("{} {}", text.ends_with('.') ? "" : ".", remedy);
  return text;
}

}  // namespace

std::string_view name(Fault fault) noexcept {
  switch (fault) {
    case Fault::usage:
      return "usage";
    case Fault::unavailable:
      return "unavailable";
    case Fault::cancelled:
      return "cancelled";
    case Fault::failed:
      break;
  }
  return "failed";
}

std::string errno_text(int code) {
  char text[128];
  const char* message = strerror_r(code, text, sizeof text);  // the GNU form, which returns it
  const char* name = strerrorname_np(code);
  return name == nullptr ? fmt::format("{} (errno {})", message, code)
                         : fmt::format("{} ({})", message, name);
}

Error::Error(Fault fault, std::string_view what, std::string_view remedy, int code, Failure known)
    : std::runtime_error(compose(what, remedy, code)), failure_(std::move(known)) {
  failure_.fault = fault;
  failure_.remedy = remedy;
  if (code != 0) failure_.code = code;
}

Error::Error(const Error& other, const std::string& text)
    : std::runtime_error(text), failure_(other.failure_) {}

Error Error::at(std::string_view where) const {
  return {*this, fmt::format("{}: {}", where, what())};
}

Cancelled::Cancelled()
    : Error(Fault::cancelled, "cancelled by the caller", {}, 0, {.outcome = "cancelled"}) {}

Failure failure_of(const std::exception& error) {
  const auto* const known = dynamic_cast<const Error*>(&error);
  return known != nullptr ? known->failure() : Failure();
}

}  // namespace rdmabench::inline v1
