// The node that the doctor judges.
#pragma once

#include <memory>
#include <string>

#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::run {

/// What health::diagnose() is to judge: this machine for "/" in any spelling, with what libibverbs
/// alone tells, or else what health::open_store() reads. Throws what that throws. With
/// `ask_firmware` also what health::ask_firmware() adds, of this machine alone.
std::shared_ptr<const health::FileStore> open_node(const std::string& root,
                                                   bool ask_firmware = false);

}  // namespace rdmabench::inline v1::run
