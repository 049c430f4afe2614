#include "rdmabench/collective/engines.h"

#include <fmt/format.h>

#include "rdmabench/base/error.h"

namespace rdmabench::collective {

std::string_view name(Registration registration) noexcept {
  switch (registration) {
    case Registration::none:
      return "none";
    case Registration::local:
      return "local";
    case Registration::symmetric:
      return "symmetric";
  }
  return "";
}

Registration parse_registration(std::string_view text) {
  for (const Registration one :
       {Registration::none, Registration::local, Registration::symmetric}) {
    if (name(one) == text) return one;
  }
  throw Error(Fault::usage, fmt::format("invalid `registration` '{}'", text),
              "It may be none, local or symmetric.");
}

}  // namespace rdmabench::collective
