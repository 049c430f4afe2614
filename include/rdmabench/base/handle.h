// Owns a handle of a C library.
#pragma once

#include <memory>

#include "rdmabench/features.h"

namespace rdmabench::inline v1 {

/// Calls `Destroy` and ignores its result, because a destructor must not throw.
template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* handle) const noexcept {
    static_cast<void>(Destroy(handle));
  }
};

/// `Handle<ibv_pd, ibv_dealloc_pd>`: a unique_ptr that destroys by the call of the library.
///
/// Declare children after their parents, so that they are destroyed first. A struct of several
/// handles must delete its move assignment, because the default one destroys parents first.
template <class T, auto Destroy>
using Handle = std::unique_ptr<T, Destroyer<Destroy>>;

}  // namespace rdmabench::inline v1
