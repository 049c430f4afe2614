// hwloc, loaded when it is first called.
#include <hwloc.h>

#include "loaded/forward.h"

RDMABENCH_FORWARD_3(hwloc, hwloc_bitmap_list_snprintf)
RDMABENCH_FORWARD_3(hwloc, hwloc_get_obj_by_depth)
RDMABENCH_FORWARD_2(hwloc, hwloc_get_type_depth)
RDMABENCH_FORWARD_1(hwloc, hwloc_topology_destroy)
RDMABENCH_FORWARD_1(hwloc, hwloc_topology_init)
RDMABENCH_FORWARD_1(hwloc, hwloc_topology_load)
RDMABENCH_FORWARD_3(hwloc, hwloc_topology_set_components)
RDMABENCH_FORWARD_2(hwloc, hwloc_topology_set_io_types_filter)
