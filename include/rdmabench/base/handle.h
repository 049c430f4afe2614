// Ownership of a C library's handle, by type.
#pragma once

#include <memory>

namespace rdmabench {

/// Calls `Destroy` and drops its result: a destructor can neither throw nor do anything about it.
template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* handle) const noexcept {
    static_cast<void>(Destroy(handle));
  }
};

/// `Handle<ibv_pd, ibv_dealloc_pd>`: the size of a pointer, destroyed by the library's own call.
///
/// Declare children after their parents, so that they are destroyed first. A struct of several
/// handles must delete its move assignment: the defaulted one would destroy the parents first.
template <class T, auto Destroy>
using Handle = std::unique_ptr<T, Destroyer<Destroy>>;

}  // namespace rdmabench
