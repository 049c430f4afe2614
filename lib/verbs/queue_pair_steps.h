// What the makers of all kinds of queue pairs share. Private to this room.
#pragma once

#include <functional>
#include <string_view>

#include "verbs/queue_pair.h"

namespace rdmabench::inline v1::verbs {

/// The send queue that `spec` asks for, and the receive queue or the shared one.
void add_sends(ibv_qp_init_attr_ex& attributes, const QueuePairSpec& spec);
void add_receives(ibv_qp_init_attr_ex& attributes, const QueuePairSpec& spec);

using CreateQueuePair = std::function<ibv_qp*(ibv_qp_init_attr_ex&)>;

/// Calls `create` with less until it succeeds, as create_queue_pair() tells. Throws Error(failed)
/// that names `type`.
SizedQueuePair create_sized(ibv_pd& domain, std::string_view type,
                            const ibv_qp_init_attr_ex& wanted, const CreateQueuePair& create);

/// ibv_modify_qp(3). Throws Error(failed) that names `step`, with `remedy` or the one of
/// setup_error.h.
void modify(ibv_qp& queue_pair, ibv_qp_attr attributes, int mask, std::string_view step,
            std::string_view remedy = {});

/// How packets get there.
ibv_ah_attr address_vector(const ConnectionAttributes& connection);

}  // namespace rdmabench::inline v1::verbs
