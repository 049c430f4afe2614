// libmlx5, loaded when it is first called.
#include <infiniband/mlx5dv.h>

#include "loaded/forward.h"

RDMABENCH_FORWARD_3(mlx5, mlx5dv_create_qp)
RDMABENCH_FORWARD_1(mlx5, mlx5dv_is_supported)
RDMABENCH_FORWARD_1(mlx5, mlx5dv_qp_ex_from_ibv_qp_ex)
RDMABENCH_FORWARD_2(mlx5, mlx5dv_query_device)
