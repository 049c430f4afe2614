#include <fmt/format.h>

#include <algorithm>

#include "loaded/library.h"
#include "rdmabench/base/error.h"
#include "rdmabench/run/backends.h"

namespace rdmabench::inline v1::run {

const Backend& find_backend(std::string_view name) {
  std::string built;
  for (const Backend& backend : backends()) {
    if (backend.name == name) return backend;
    built += fmt::format("{}{}", built.empty() ? "" : ", ", backend.name);
  }
  for (const transport::BackendRow& row : known_backends()) {
    if (row.name != name) continue;
    const std::string needs =
        row.needs.empty() ? "" : fmt::format("It needs a build with {}. ", row.needs);
    throw Error(Fault::unavailable, fmt::format("the back end '{}' is not in this program", name),
                fmt::format("{}This program has {}.", needs, built));
  }
  throw Error(Fault::usage, fmt::format("there is no back end '{}'", name),
              fmt::format("Choose auto, {}.", built));
}

std::string_view backend_of(transport::Service service) {
  for (const transport::BackendRow& row : known_backends()) {
    if (std::find(row.services.begin(), row.services.end(), service) != row.services.end()) {
      return row.name;
    }
  }
  return "";
}

bool reaches_others(std::string_view name) {
  const auto keeps_inside = [&](const transport::BackendRow& row) {
    return row.name == name && !row.reaches_others;
  };
  return std::ranges::none_of(known_backends(), keeps_inside) &&
         std::ranges::none_of(backends(), keeps_inside);
}

std::vector<SharedLibrary> shared_libraries() {
  std::vector<SharedLibrary> all;
  for (const loaded::Library* const library : loaded::libraries()) {
    const loaded::Found& found = library->load();
    all.push_back(
        {library->name(), found.file,
         found.handle != nullptr ? "" : fmt::format("{}. {}", found.absence, library->remedy())});
  }
  return all;
}

}  // namespace rdmabench::inline v1::run
