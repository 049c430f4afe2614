#include "processors.h"

#include <sched.h>

#include <cerrno>
#include <string>

#include "base/text.h"
#include "rdmabench/base/error.h"
#include "values.h"

namespace rdmabench::inline v1::tools {

std::vector<int> processors_of(const Given& given) {
  std::vector<int> processors;
  const auto one = [&](std::string_view text) {
    return whole_as<int>({given.name, std::string(text)}, 0, CPU_SETSIZE - 1);
  };
  for (const std::string_view item : split(given.text, ',')) {
    const std::size_t dash = item.find('-');
    const int first = one(item.substr(0, dash));
    const int last = dash == std::string_view::npos ? first : one(item.substr(dash + 1));
    if (last < first) refuse_word(given, "an ascending list such as 0,2-4");
    for (int processor = first; processor <= last; ++processor) processors.push_back(processor);
  }
  return processors;
}

void stay_on(const std::vector<int>& processors, std::string_view flag) {
  if (processors.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    throw Error(Fault::usage, std::string(flag), "Choose processors that this process may use.",
                errno);
  }
}

}  // namespace rdmabench::inline v1::tools
