// libefa, loaded when it is first called.
#include <infiniband/efadv.h>

#include "loaded/forward.h"

RDMABENCH_FORWARD_4(efa, efadv_create_qp_ex)
RDMABENCH_FORWARD_3(efa, efadv_query_device)
