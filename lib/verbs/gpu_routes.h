// The calls for a GPU's memory that not every libmlx5 has. Private to the room.
#pragma once

#include "rdmabench/verbs/registration.h"

namespace rdmabench::verbs {

/// Null with errno set when the library has no such call or the device refuses. The region begins
/// at the page that the area begins in, as the call demands. Source: mlx5dv_reg_dmabuf_mr(3).
ibv_mr* register_data_direct(ibv_pd& domain, const MemoryArea& area, int flags);

}  // namespace rdmabench::verbs
