// UCX, loaded when it is first called: libucp with the libraries that it brings. What is called for
// each message is not here: an endpoint keeps those functions' addresses
// (rdmabench/transport/ucx/endpoint.h).
#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>

#include "loaded/forward.h"

RDMABENCH_FORWARD_1(ucp, ucp_cleanup)
RDMABENCH_FORWARD_3(ucp, ucp_config_modify)
RDMABENCH_FORWARD_3(ucp, ucp_config_read)
RDMABENCH_FORWARD_1(ucp, ucp_config_release)
RDMABENCH_FORWARD_2(ucp, ucp_context_print_info)
RDMABENCH_FORWARD_2(ucp, ucp_ep_close_nbx)
RDMABENCH_FORWARD_3(ucp, ucp_ep_create)
RDMABENCH_FORWARD_2(ucp, ucp_ep_print_info)
RDMABENCH_FORWARD_2(ucp, ucp_ep_query)
RDMABENCH_FORWARD_3(ucp, ucp_ep_rkey_unpack)
RDMABENCH_FORWARD_3(ucp, ucp_get_version)
RDMABENCH_FORWARD_0(ucp, ucp_get_version_string)
RDMABENCH_FORWARD_5(ucp, ucp_init_version)
RDMABENCH_FORWARD_3(ucp, ucp_mem_map)
RDMABENCH_FORWARD_2(ucp, ucp_mem_unmap)
RDMABENCH_FORWARD_2(ucp, ucp_request_cancel)
RDMABENCH_FORWARD_1(ucp, ucp_rkey_buffer_release)
RDMABENCH_FORWARD_1(ucp, ucp_rkey_destroy)
RDMABENCH_FORWARD_4(ucp, ucp_rkey_pack)
RDMABENCH_FORWARD_1(ucp, ucp_worker_arm)
RDMABENCH_FORWARD_3(ucp, ucp_worker_create)
RDMABENCH_FORWARD_1(ucp, ucp_worker_destroy)
RDMABENCH_FORWARD_3(ucp, ucp_worker_get_address)
RDMABENCH_FORWARD_2(ucp, ucp_worker_get_efd)
RDMABENCH_FORWARD_2(ucp, ucp_worker_release_address)
RDMABENCH_FORWARD_2(ucp, ucp_worker_set_am_recv_handler)
RDMABENCH_FORWARD_1(ucp, ucs_log_push_handler)
RDMABENCH_FORWARD_1(ucp, ucs_status_string)
