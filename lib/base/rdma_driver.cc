#include "base/rdma_driver.h"

#include <array>
#include <system_error>
#include <utility>

namespace rdmabench::inline v1 {

std::string rdma_driver(std::string_view driver) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kCompanions{
      {{"mlx5_core", "mlx5"},
       {"mlx5_core.sf", "mlx5"},
       {"mlx4_core", "mlx4"},
       {"bnxt_en", "bnxt_re"},
       {"ice", "irdma"},
       {"i40e", "irdma"},
       {"idpf", "irdma"},
       {"hns3", "hns"},
       {"qede", "qedr"},
       {"vmw_pvrdma", "pvrdma"}}};
  for (const auto& [network, companion] : kCompanions) {
    if (driver == network) return std::string(companion);
  }
  return std::string(driver);
}

std::string rdma_driver_of(const std::filesystem::path& folder) {
  std::error_code failure;
  const auto driver = std::filesystem::read_symlink(folder / "device/driver", failure);
  if (failure) return std::filesystem::exists(folder / "parent", failure) ? "rxe" : "";
  return rdma_driver(driver.filename().native());
}

}  // namespace rdmabench::inline v1
