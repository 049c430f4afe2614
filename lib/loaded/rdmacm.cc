// librdmacm, loaded when it is first called.
#include <rdma/rdma_cma.h>

#include "loaded/forward.h"

RDMABENCH_FORWARD_2(rdmacm, rdma_accept)
RDMABENCH_FORWARD_1(rdmacm, rdma_ack_cm_event)
RDMABENCH_FORWARD_2(rdmacm, rdma_bind_addr)
RDMABENCH_FORWARD_2(rdmacm, rdma_connect)
RDMABENCH_FORWARD_0(rdmacm, rdma_create_event_channel)
RDMABENCH_FORWARD_4(rdmacm, rdma_create_id)
RDMABENCH_FORWARD_1(rdmacm, rdma_destroy_event_channel)
RDMABENCH_FORWARD_1(rdmacm, rdma_destroy_id)
RDMABENCH_FORWARD_1(rdmacm, rdma_disconnect)
RDMABENCH_FORWARD_1(rdmacm, rdma_establish)
RDMABENCH_FORWARD_1(rdmacm, rdma_event_str)
RDMABENCH_FORWARD_2(rdmacm, rdma_get_cm_event)
RDMABENCH_FORWARD_1(rdmacm, rdma_get_src_port)
RDMABENCH_FORWARD_3(rdmacm, rdma_init_qp_attr)
RDMABENCH_FORWARD_2(rdmacm, rdma_listen)
RDMABENCH_FORWARD_3(rdmacm, rdma_reject)
RDMABENCH_FORWARD_4(rdmacm, rdma_resolve_addr)
RDMABENCH_FORWARD_2(rdmacm, rdma_resolve_route)
