// Defines C functions that another project's header declares: each calls that of the shared
// library, which is loaded then. So what is written for the C library, inline functions of its
// headers included, needs no change. The first call throws Error(unavailable) where the library is
// missing: these are calls of set-up, the data path's are inline.
#pragma once

#include <cstddef>
#include <tuple>

#include "loaded/library.h"

namespace rdmabench::inline v1::loaded {

template <typename Function>
struct Signature;

template <typename R, typename... Arguments>
struct Signature<R(Arguments...)> {
  using Result = R;
  template <std::size_t index>
  using Argument = std::tuple_element_t<index, std::tuple<Arguments...>>;
};

}  // namespace rdmabench::inline v1::loaded

// One macro for each number of arguments. Types come from the header, so they are right with each
// release of it. Parentheses around the name keep a macro of that name out.
// NOLINTBEGIN(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)
#define RDMABENCH_FORWARD(library, name, parameters, ...)                                \
  extern "C" rdmabench::loaded::Signature<decltype(name)>::Result(name) parameters {     \
    static const auto function =                                                         \
        reinterpret_cast<decltype(&(name))>(rdmabench::loaded::library.function(#name)); \
    return function(__VA_ARGS__);                                                        \
  }
#define RDMABENCH_P(name, index) \
  rdmabench::loaded::Signature<decltype(name)>::Argument<index> a##index
#define RDMABENCH_P1(name) RDMABENCH_P(name, 0)
#define RDMABENCH_P2(name) RDMABENCH_P1(name), RDMABENCH_P(name, 1)
#define RDMABENCH_P3(name) RDMABENCH_P2(name), RDMABENCH_P(name, 2)
#define RDMABENCH_P4(name) RDMABENCH_P3(name), RDMABENCH_P(name, 3)
#define RDMABENCH_P5(name) RDMABENCH_P4(name), RDMABENCH_P(name, 4)
#define RDMABENCH_P6(name) RDMABENCH_P5(name), RDMABENCH_P(name, 5)
// clang-format off
#define RDMABENCH_FORWARD_0(library, name) RDMABENCH_FORWARD(library, name, (), )
#define RDMABENCH_FORWARD_1(library, name) RDMABENCH_FORWARD(library, name, (RDMABENCH_P1(name)), a0)
#define RDMABENCH_FORWARD_2(library, name) RDMABENCH_FORWARD(library, name, (RDMABENCH_P2(name)), a0, a1)
#define RDMABENCH_FORWARD_3(library, name) RDMABENCH_FORWARD(library, name, (RDMABENCH_P3(name)), a0, a1, a2)
#define RDMABENCH_FORWARD_4(library, name) RDMABENCH_FORWARD(library, name, (RDMABENCH_P4(name)), a0, a1, a2, a3)
#define RDMABENCH_FORWARD_5(library, name) RDMABENCH_FORWARD(library, name, (RDMABENCH_P5(name)), a0, a1, a2, a3, a4)
#define RDMABENCH_FORWARD_6(library, name) RDMABENCH_FORWARD(library, name, (RDMABENCH_P6(name)), a0, a1, a2, a3, a4, a5)
// clang-format on
// NOLINTEND(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)
