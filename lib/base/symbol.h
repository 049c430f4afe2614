// The address of a function that dlsym(3) found, for a pointer to that function.
#pragma once

namespace rdmabench::inline v1 {

struct Symbol {
  void* address = nullptr;

  template <class Function>
  operator Function*() const noexcept {  // NOLINT(google-explicit-constructor)
    return reinterpret_cast<Function*>(address);
  }
};

}  // namespace rdmabench::inline v1
