#include "formats.h"

#include <ctime>

#include "base/text.h"

namespace rdmabench::inline v1::report {

std::string to_format(std::span<const Document> documents, std::string_view format) {
  if (format == "junit") return to_junit(documents);
  if (format == "prometheus") return to_prometheus(documents);
  if (format == "csv") return to_csv(documents);
  if (format == "markdown") return to_markdown(documents);
  return to_html(documents, time_of_page());
}

std::string time_of_page() {
  return utc_text(std::time(nullptr), "%Y-%m-%d %H:%M UTC");
}

}  // namespace rdmabench::inline v1::report
