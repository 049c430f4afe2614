// libfabric's objects, owned by type.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include "rdmabench/base/handle.h"

namespace rdmabench::inline v1::transport::ofi {

/// fi_close(3) takes the fid that every libfabric object starts with.
template <class T>
int close_fid(T* object) noexcept {
  return fi_close(&object->fid);
}

template <class T>
using Fid = Handle<T, close_fid<T>>;

/// A whole list that fi_getinfo(3) returned, or one entry from fi_dupinfo(3).
using Info = Handle<fi_info, fi_freeinfo>;

}  // namespace rdmabench::inline v1::transport::ofi
