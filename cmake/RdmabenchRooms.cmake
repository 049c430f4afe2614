# A room is one folder of lib/ with its headers in include/rdmabench/<room>. It is compiled once, as an
# object library; the product and the tests link only the rooms they name, so a forbidden dependency does
# not link.

# The headers that take longest are parsed once for all targets of the same compiler options.
option(RDMABENCH_PRECOMPILE "Precompile headers: for a build without a compiler cache" OFF)
function(rdmabench_precompile target)
  if(RDMABENCH_PRECOMPILE AND target STREQUAL rdmabench_room_base)
    target_precompile_headers(${target} PRIVATE <fmt/chrono.h> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>
      <algorithm> <array> <chrono> <functional> <map> <optional> <set> <string> <thread> <vector>)
  elseif(RDMABENCH_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM rdmabench_room_base)
  endif()
endfunction()

# rdmabench_room(measure TIMED SOURCES clock.cc ... LINK PkgConfig::X); TIMED: its code runs while something is timed.
function(rdmabench_room room)
  cmake_parse_arguments(arg "TIMED" "" "SOURCES;LINK" ${ARGN})
  set(target rdmabench_room_${room})
  add_library(${target} OBJECT ${arg_SOURCES})
  # Headers that are not installed lie in lib/<room>/ and are included as "<room>/name.h".
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/lib"
                             "${PROJECT_BINARY_DIR}/include")
  target_link_libraries(${target} PUBLIC Threads::Threads ${arg_LINK}
                        PRIVATE rdmabench_flags ${RDMABENCH_FMT} nlohmann_json::nlohmann_json)
  if(arg_TIMED)
    target_compile_options(${target} PRIVATE ${RDMABENCH_TIMED_OPTIONS})
  else()
    rdmabench_precompile(${target})
    target_compile_options(${target} PRIVATE ${RDMABENCH_UNTIMED_OPTIONS})
  endif()
  target_compile_options(${target} PRIVATE ${RDMABENCH_SECTIONS})
  set_property(GLOBAL APPEND PROPERTY RDMABENCH_ROOMS ${target})
endfunction()

# rdmabench_timed(clock.cc ...): files of a room that is not TIMED whose code runs while something is timed, with -O2 where
# RDMABENCH_TIMED_OPTIONS has no -O of its own.
function(rdmabench_timed)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-O2>;${RDMABENCH_TIMED_OPTIONS}"
                              SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# rdmabench_backend(loop Endpoint ManyEndpoint) enters lib/transport/loop into the table of back ends, with the names
# of its endpoint types. lib/transport/CMakeLists.txt must list the name too. docs/design.md says what the folder holds.
function(rdmabench_backend name)
  set_property(GLOBAL APPEND PROPERTY RDMABENCH_BACKENDS ${name})
  set_property(GLOBAL PROPERTY RDMABENCH_ENDPOINTS_${name} ${ARGN})
endfunction()

# rdmabench_test(measure_test ROOMS base measure SOURCES a_test.cc LINK X)
function(rdmabench_test name)
  cmake_parse_arguments(arg "" "" "ROOMS;SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  foreach(room IN LISTS arg_ROOMS)
    target_link_libraries(${name} PRIVATE rdmabench_room_${room})
  endforeach()
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/lib")
  target_link_libraries(${name} PRIVATE ${arg_LINK} rdmabench_flags ${RDMABENCH_FMT}
                        nlohmann_json::nlohmann_json GTest::gmock_main)
  # The rooms are what is tested, as users have them; the tests themselves need no optimizer's minutes.
  target_compile_options(${name} PRIVATE -U_FORTIFY_SOURCE -O0)
  # Most of a test file's compile time goes into the same headers, so a unity build compiles a program as one file.
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
  # One test for the whole program: a process for each of 1,700 cases costs minutes under a sanitizer.
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
endfunction()
