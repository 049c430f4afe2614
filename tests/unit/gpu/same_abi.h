// Whether a function that we declare ourselves is called as the vendor's header declares it.
#pragma once

#include <type_traits>

namespace rdmabench::inline v1::gpu {

/// What of a type a call's registers depend on: an enumeration travels as its integer, and one
/// integer of a size as another; what a pointer points to is held against its header by itself.
template <class T>
constexpr int abi_class() {
  if constexpr (std::is_void_v<T>) {
    return 0;
  } else if constexpr (std::is_pointer_v<T>) {
    return 1;
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return 100 + static_cast<int>(sizeof(T));
  } else if constexpr (std::is_floating_point_v<T>) {
    return 200 + static_cast<int>(sizeof(T));
  } else {
    return -1;  // by value: none of ours
  }
}

template <class Ours, class Theirs>
struct SameAbi : std::false_type {};

template <class R, class... A, class S, class... B>
struct SameAbi<R (*)(A...), S (*)(B...)> {
  static constexpr bool compare() {
    if constexpr (sizeof...(A) != sizeof...(B)) {
      return false;
    } else {
      return abi_class<R>() == abi_class<S>() &&
             ((abi_class<A>() == abi_class<B>() && abi_class<A>() >= 0) && ...);
    }
  }
  static constexpr bool value = compare();
};

}  // namespace rdmabench::inline v1::gpu
