# Required header-only libraries, then the optional parts: each is AUTO (used where found), ON or OFF.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(RDMABENCH_ASIO_INCLUDE asio.hpp REQUIRED)
find_path(RDMABENCH_BOOST_INCLUDE boost/math/distributions/students_t.hpp REQUIRED)

# rdmabench_optional(VERBS libibverbs librdmacm) sets RDMABENCH_HAVE_VERBS and, when found, makes the
# imported target PkgConfig::RDMABENCH_VERBS. Its headers count as system headers: libfabric 2.x does
# not compile under -Wpedantic. With LOADED first the headers alone are used: the program loads the
# library where it finds it.
function(rdmabench_optional name)
  cmake_parse_arguments(arg "LOADED" "" "" ${ARGN})
  set(modules ${arg_UNPARSED_ARGUMENTS})
  set(RDMABENCH_${name} AUTO CACHE STRING "Use ${modules}: AUTO, ON or OFF")
  set_property(CACHE RDMABENCH_${name} PROPERTY STRINGS AUTO ON OFF)
  set(have 0)
  if(NOT RDMABENCH_${name} STREQUAL "OFF")
    set(required "")
    if(RDMABENCH_${name} STREQUAL "ON")
      set(required REQUIRED)
    endif()
    pkg_check_modules(RDMABENCH_${name} ${required} QUIET IMPORTED_TARGET GLOBAL ${modules})
    if(RDMABENCH_${name}_FOUND)
      set(have 1)
    endif()
  endif()
  set(RDMABENCH_HAVE_${name} ${have} PARENT_SCOPE)
  if(have)
    if(NOT arg_LOADED)
      set_property(GLOBAL APPEND PROPERTY RDMABENCH_OPTIONAL_MODULES ${modules})
      set_property(GLOBAL APPEND PROPERTY RDMABENCH_OPTIONAL_TARGETS PkgConfig::RDMABENCH_${name})
    endif()
    message(STATUS "rdmabench: ${name} yes (${modules} ${RDMABENCH_${name}_VERSION})")
  else()
    message(STATUS "rdmabench: ${name} no")
  endif()
endfunction()

rdmabench_optional(VERBS libibverbs librdmacm)
# What two vendors add to it: DC queue pairs and SRD. A program that links the room verbs by itself needs
# RDMABENCH_VERBS_TARGETS.
set(RDMABENCH_HAVE_MLX5 0)
set(RDMABENCH_HAVE_EFA 0)
set(RDMABENCH_VERBS_TARGETS "")
if(RDMABENCH_HAVE_VERBS)
  rdmabench_optional(MLX5 libmlx5)
  rdmabench_optional(EFA libefa)
  set(RDMABENCH_VERBS_TARGETS PkgConfig::RDMABENCH_VERBS)
  foreach(direct IN ITEMS MLX5 EFA)
    if(RDMABENCH_HAVE_${direct})
      list(APPEND RDMABENCH_VERBS_TARGETS PkgConfig::RDMABENCH_${direct})
    endif()
  endforeach()
endif()
rdmabench_optional(OFI libfabric)
rdmabench_optional(HWLOC hwloc)
<<<<<<< HEAD
rdmabench_optional(SQLITE sqlite3)
=======
rdmabench_optional(PMIX LOADED pmix)
>>>>>>> origin/launch
