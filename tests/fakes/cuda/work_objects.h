// Graphs and modules of the fake driver.
#pragma once

#include <string>

namespace fake_cuda {

void reset_work_objects();
int alive_work_objects(const std::string& kind);

}  // namespace fake_cuda
