#include "rdmabench/collective/engines.h"

#include <fmt/format.h>

#include <array>

#include "rdmabench/base/error.h"

namespace rdmabench::collective {

std::string_view name(Registration registration) noexcept {
  constexpr std::array<std::string_view, 3> kWords{"none", "local", "symmetric"};
  return kWords[static_cast<std::size_t>(registration)];
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
