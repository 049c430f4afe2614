#include "run/node.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "rdmabench/base/error.h"
#include "rdmabench/features.h"

#if RDMABENCH_HAVE_VERBS
#include "rdmabench/verbs/device.h"
#endif

namespace rdmabench::inline v1::run {
namespace {

/// What libibverbs alone tells: the MTU of an InfiniBand port, for one.
std::string verbs_facts() {
  std::string text;
#if RDMABENCH_HAVE_VERBS
  try {
    for (const verbs::DeviceInfo& device : verbs::list_devices()) {
      for (const verbs::PortInfo& port : device.ports) {
        text += fmt::format("{}:{} active_mtu={} state={} gbps={:g}\n", device.name, port.number,
                            port.active_mtu, port.state, port.gbps);
      }
    }
  } catch (const Error&) {
    // Without verbs the checks say by themselves what they lack.
  }
#endif
  return text;
}

bool is_this_machine(const std::string& root) {
  // "/." and "//" are this machine too. What cannot be looked at is open_store()'s to refuse.
  std::error_code error;
  return std::filesystem::equivalent(root, "/", error) && !error;
}

}  // namespace

std::shared_ptr<const health::FileStore> open_node(const std::string& root, bool ask_firmware,
                                                   std::chrono::milliseconds gpu_limit) {
  if (!is_this_machine(root)) return health::open_store(root);
  const auto facts = std::make_shared<health::MemoryStore>();
  health::collect_live_facts(*facts, gpu_limit);
  if (ask_firmware) health::ask_firmware(*facts);
  facts->add_file("rdmabench/verbs", verbs_facts());
  return health::live_store(facts);
}

}  // namespace rdmabench::inline v1::run
