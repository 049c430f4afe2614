// The node that the doctor judges.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::run {

/// What health::diagnose() is to judge: this machine for "/" in any spelling, with what libibverbs
/// alone tells, or else what health::open_store() reads. Throws what that throws. With
/// `ask_firmware` also what health::ask_firmware() adds, of this machine alone. NVIDIA's GPUs have
/// until `gpu_limit` to answer.
std::shared_ptr<const health::FileStore> open_node(
    const std::string& root, bool ask_firmware = false,
    std::chrono::milliseconds gpu_limit = std::chrono::milliseconds(100));

}  // namespace rdmabench::inline v1::run
