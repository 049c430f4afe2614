#include "check.h"

namespace rdmabench::health {

const std::vector<const Check*>& all_checks() {
  static const std::vector<const Check*> table = [] {
    std::vector<const Check*> rows;
    for (const auto group : {device_checks, port_checks, counter_checks, address_checks, qos_checks,
                             pcie_checks, iommu_checks, gpu_checks, numa_checks, cpu_checks,
                             os_checks, limit_checks, software_checks, env_checks, log_checks}) {
      for (const Check& check : group()) rows.push_back(&check);
    }
    return rows;
  }();
  return table;
}

}  // namespace rdmabench::health
