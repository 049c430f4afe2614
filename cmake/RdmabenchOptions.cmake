# Language level, warnings, sanitizers and the switches a packager sets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(RDMABENCH_SANITIZE)
  # At a fixed address: some two million relocations before main() are a quarter of a command's start.
  add_link_options("$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>")
else()
  include(CheckPIESupported)
  check_pie_supported()
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

# A unity build takes a third of the time. `dev` compiles file by file, and scripts/check what the last commits touched.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)
  # GCC collects its garbage again and again in files of this size: 5 to 10 % of its time for some 300 MB.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1500000>)
endif()

option(RDMABENCH_TOOLS "Build the rdmabench command" ON)
option(RDMABENCH_EXAMPLES "Build the programs of examples/" ${PROJECT_IS_TOP_LEVEL})
option(RDMABENCH_BENCH "Build the micro-benchmarks (needs Google Benchmark)" ${PROJECT_IS_TOP_LEVEL})
option(RDMABENCH_WERROR "Treat warnings as errors: scripts/test does, a newer compiler must not stop a user" OFF)
option(RDMABENCH_PORTABLE "Link {fmt}, libstdc++ and libgcc into the command and librdmabench-c" OFF)
set(RDMABENCH_TIMED_OPTIONS "" CACHE STRING "Compiler options of what runs while something is timed, behind those of the build type")
set(RDMABENCH_UNTIMED_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-Os>" CACHE STRING "The same of the rest of the library: small, because a program has it in itself")
set(RDMABENCH_SANITIZE "" CACHE STRING "Sanitizers to build with: 'address,undefined' or 'thread'")

# __FILE__ is relative to the root: tests of a clone in another folder are the same to a compiler cache.
add_compile_options("-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")

# A function and a variable each in a section of its own: a program takes of a static library what it calls, however
# large the object files are. What the library's users link with, too.
set(RDMABENCH_SECTIONS "")
set(RDMABENCH_DROP_UNUSED "")
if(NOT RDMABENCH_SANITIZE)
  set(RDMABENCH_SECTIONS -ffunction-sections -fdata-sections)
  set(RDMABENCH_DROP_UNUSED LINKER:--gc-sections)
endif()

add_library(rdmabench_flags INTERFACE)
target_compile_options(rdmabench_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       -Wno-sign-conversion -Wnon-virtual-dtor $<$<BOOL:${RDMABENCH_WERROR}>:-Werror>)
# libstdc++ 12 calls a function of its own that it deprecates, which clang from 17 on notes in our code. GCC still tells
# of deprecated functions that we call.
target_compile_options(rdmabench_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
if(RDMABENCH_SANITIZE)
  add_compile_options(-fsanitize=${RDMABENCH_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND RDMABENCH_SANITIZE MATCHES "undefined")
    # C libraries that are loaded at run time are called by types that we declare.
    add_compile_options(-fno-sanitize=function)
  endif()
  add_link_options(-fsanitize=${RDMABENCH_SANITIZE})
endif()

# Of a fault in what reads a peer's bytes shall come no more than a crash (tests/integration/binary.py). The timed loops
# read none, and do without what costs instructions in them.
set(RDMABENCH_LOOP_OPTIONS ${RDMABENCH_TIMED_OPTIONS} -fno-lto)  # see RdmabenchLibrary.cmake: it needs object code
if(NOT RDMABENCH_SANITIZE)
  include(CheckCXXCompilerFlag)
  add_compile_options(-fstack-protector-strong)
  list(APPEND RDMABENCH_LOOP_OPTIONS -fno-stack-protector)
  check_cxx_compiler_flag(-fcf-protection RDMABENCH_HAVE_CET)  # x86-64
  if(RDMABENCH_HAVE_CET)
    add_compile_options(-fcf-protection)
    list(APPEND RDMABENCH_LOOP_OPTIONS -fcf-protection=none)
  endif()
  # It needs an optimizer.
  add_compile_options("$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()

# With these two settings a clone in another folder finds what this one compiled. Debug information then names the
# folder of the clone that compiled first.
find_program(RDMABENCH_CCACHE ccache)
if(RDMABENCH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "${RDMABENCH_CCACHE}")
endif()
