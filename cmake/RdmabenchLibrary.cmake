# The product: one library made of every room, with its CMake package and its pkg-config file.
include(CMakePackageConfigHelpers)

file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/include/rdmabench/features.h" CONTENT [[
// Which optional parts this build of rdmabench has. Written by CMake.
#pragma once

#define RDMABENCH_VERSION "@PROJECT_VERSION@"
#define RDMABENCH_HAVE_VERBS @RDMABENCH_HAVE_VERBS@
#define RDMABENCH_HAVE_MLX5 @RDMABENCH_HAVE_MLX5@
#define RDMABENCH_HAVE_EFA @RDMABENCH_HAVE_EFA@
#define RDMABENCH_HAVE_OFI @RDMABENCH_HAVE_OFI@
#define RDMABENCH_HAVE_HWLOC @RDMABENCH_HAVE_HWLOC@
#define RDMABENCH_HAVE_SQLITE @RDMABENCH_HAVE_SQLITE@
#define RDMABENCH_HAVE_PMIX @RDMABENCH_HAVE_PMIX@
#define RDMABENCH_HAVE_ARCHIVE @RDMABENCH_HAVE_ARCHIVE@
]] @ONLY)

get_property(rooms GLOBAL PROPERTY RDMABENCH_ROOMS)

add_library(rdmabench)
add_library(rdmabench::rdmabench ALIAS rdmabench)
foreach(room IN LISTS rooms)
  target_sources(rdmabench PRIVATE $<TARGET_OBJECTS:${room}>)
endforeach()
set_target_properties(rdmabench PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME rdmabench)
target_compile_features(rdmabench PUBLIC cxx_std_20)
target_include_directories(rdmabench PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(rdmabench PUBLIC Threads::Threads PRIVATE ${RDMABENCH_FMT} ${RDMABENCH_PUGIXML} ${CMAKE_DL_LIBS})
# Headers of its back ends' endpoints include these.
foreach(name IN ITEMS VERBS OFI)
  if(RDMABENCH_HAVE_${name})
    target_include_directories(rdmabench SYSTEM PUBLIC
      $<BUILD_INTERFACE:$<TARGET_PROPERTY:PkgConfig::RDMABENCH_${name},INTERFACE_INCLUDE_DIRECTORIES>>)
  endif()
endforeach()

install(TARGETS rdmabench EXPORT rdmabench-targets)
install(DIRECTORY include/rdmabench DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES "${PROJECT_BINARY_DIR}/include/rdmabench/features.h"
              "${PROJECT_BINARY_DIR}/include/rdmabench/endpoints.h"
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rdmabench)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rdmabench)
install(EXPORT rdmabench-targets NAMESPACE rdmabench:: DESTINATION ${package_dir})
configure_package_config_file(cmake/rdmabench-config.cmake.in
  "${PROJECT_BINARY_DIR}/rdmabench-config.cmake" INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/rdmabench-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/rdmabench-config.cmake"
        "${PROJECT_BINARY_DIR}/rdmabench-config-version.cmake" DESTINATION ${package_dir})

file(RELATIVE_PATH RDMABENCH_PC_TO_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file(cmake/rdmabench.pc.in "${PROJECT_BINARY_DIR}/rdmabench.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/rdmabench.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
