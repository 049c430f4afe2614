// What verbs calls a kernel's driver.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace rdmabench::inline v1 {

/// A device's driver is often its network driver; its RDMA companion, after which the verbs
/// provider is called, has another name: "mlx5_core" is "mlx5", "ice" is "irdma". Others are as
/// they are.
std::string rdma_driver(std::string_view driver);

/// Of a folder of sysfs's class/infiniband; "rxe" for a software device, "" where it is unknown.
std::string rdma_driver_of(const std::filesystem::path& folder);

}  // namespace rdmabench::inline v1
