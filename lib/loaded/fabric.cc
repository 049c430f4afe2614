// libfabric, loaded when it is first called.
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include "loaded/forward.h"

RDMABENCH_FORWARD_1(fabric, fi_dupinfo)
RDMABENCH_FORWARD_3(fabric, fi_fabric)
RDMABENCH_FORWARD_1(fabric, fi_freeinfo)
RDMABENCH_FORWARD_6(fabric, fi_getinfo)
RDMABENCH_FORWARD_1(fabric, fi_strerror)
RDMABENCH_FORWARD_4(fabric, fi_tostr_r)
RDMABENCH_FORWARD_0(fabric, fi_version)
