#include "formats.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

namespace rdmabench::inline v1::report {

std::string to_format(std::span<const Document> documents, std::string_view format) {
  if (format == "junit") return to_junit(documents);
  if (format == "prometheus") return to_prometheus(documents);
  if (format == "csv") return to_csv(documents);
  if (format == "markdown") return to_markdown(documents);
  return to_html(documents, time_of_page());
}

std::string time_of_page() {
  return fmt::format(
      "{:%Y-%m-%d %H:%M} UTC",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

}  // namespace rdmabench::inline v1::report
