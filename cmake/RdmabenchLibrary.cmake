# The product: libraries made of all rooms, with their CMake package and their pkg-config file.
include(CMakePackageConfigHelpers)

set(defines "")
foreach(part IN LISTS RDMABENCH_PARTS)
  string(APPEND defines "#define RDMABENCH_HAVE_${part} ${RDMABENCH_HAVE_${part}}\n")
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/include/rdmabench/features.h" CONTENT [[
// Which optional parts this build of rdmabench has. Written by CMake.
#pragma once

// Every installed header includes this one.
#if __cplusplus < 202002L
#error "rdmabench needs C++20: compile with -std=c++20"
#endif

#define RDMABENCH_VERSION "@PROJECT_VERSION@"
@defines@]] @ONLY)

# A program that instantiates a loop or an endpoint, with whatever options, brings weak copies of its functions, and the
# linker takes the first: the library's own loops would be timed as the caller compiled them. So theirs become local.
set(RDMABENCH_LOOP_OBJECTS $<TARGET_OBJECTS:rdmabench_room_loops>)
find_program(RDMABENCH_GNU_LD NAMES "${CMAKE_LINKER}.bfd" ld.bfd)
find_program(RDMABENCH_GNU_OBJCOPY objcopy)
set(linker_options "")
if(RDMABENCH_GNU_LD)
  execute_process(COMMAND "${RDMABENCH_GNU_LD}" --help OUTPUT_VARIABLE linker_options)
endif()
if(RDMABENCH_SANITIZE)
  # Nothing is timed.
elseif(NOT linker_options MATCHES "--force-group-allocation" OR NOT RDMABENCH_GNU_OBJCOPY OR NOT CMAKE_NM)
  message(WARNING "rdmabench: a program that compiles a timed loop itself replaces the library's by its own, with its own "
    "compiler options. To keep them apart, install GNU binutils 2.29 or newer (ld.bfd, objcopy, nm). Found: "
    "${RDMABENCH_GNU_LD}, ${RDMABENCH_GNU_OBJCOPY}, ${CMAKE_NM}. gold and lld lack --force-group-allocation.")
else()
  set(RDMABENCH_LOOP_OBJECTS "")
  get_property(sources GLOBAL PROPERTY RDMABENCH_LOOPS)
  foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME)
    set(object "${PROJECT_BINARY_DIR}/loops/${name}.o")
    add_custom_command(OUTPUT "${object}" DEPENDS rdmabench_room_loops $<TARGET_OBJECTS:rdmabench_room_loops> cmake/keep_local.sh
      COMMAND sh "${PROJECT_SOURCE_DIR}/cmake/keep_local.sh" "${RDMABENCH_GNU_LD}" "${CMAKE_NM}" "${RDMABENCH_GNU_OBJCOPY}"
              $<FILTER:$<TARGET_OBJECTS:rdmabench_room_loops>,INCLUDE,/${name}\\.o$> "${object}" VERBATIM)
    list(APPEND RDMABENCH_LOOP_OBJECTS "${object}")
  endforeach()
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/loops")
  set_source_files_properties(${RDMABENCH_LOOP_OBJECTS} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
endif()

file(RELATIVE_PATH RDMABENCH_PC_TO_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")

# rdmabench_library(name OUTPUT file DESCRIPTION text ROOMS room... LINK component... USES package...) makes the target,
# the component of that name and the pkg-config file of that of the library. The packages are those of pkg-config whose
# libraries its code calls.
function(rdmabench_library name)
  cmake_parse_arguments(arg "" "OUTPUT;DESCRIPTION" "ROOMS;LINK;USES" ${ARGN})
  set(target rdmabench_${name})
  add_library(${target})
  add_library(rdmabench::${name} ALIAS ${target})
  foreach(room IN LISTS arg_ROOMS)
    if(room STREQUAL loops)
      target_sources(${target} PRIVATE ${RDMABENCH_LOOP_OBJECTS})
    else()
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:rdmabench_room_${room}>)
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME ${arg_OUTPUT} EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  list(TRANSFORM arg_LINK PREPEND rdmabench_ OUTPUT_VARIABLE below)
  target_link_libraries(${target} PUBLIC Threads::Threads ${below} PRIVATE ${RDMABENCH_FMT} ${CMAKE_DL_LIBS})
  install(TARGETS ${target} EXPORT rdmabench-targets)

  # Who links the shared libraries needs no more; who links the static ones needs what they use.
  list(TRANSFORM arg_LINK PREPEND rdmabench- OUTPUT_VARIABLE requires)
  set(libs "-pthread")
  set(private_requires "")
  if(BUILD_SHARED_LIBS)
    set(private_requires ${arg_USES})
  else()
    target_link_options(${target} INTERFACE ${RDMABENCH_DROP_UNUSED})
    list(APPEND requires ${arg_USES})
    list(TRANSFORM RDMABENCH_DROP_UNUSED REPLACE "^LINKER:" "-Wl," OUTPUT_VARIABLE drop)
    string(JOIN " " libs -pthread -ldl ${drop})
  endif()
  string(JOIN " " requires ${requires})
  string(JOIN " " private_requires ${private_requires})
  configure_file(cmake/rdmabench.pc.in "${PROJECT_BINARY_DIR}/${arg_OUTPUT}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${arg_OUTPUT}.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# Each component holds the rooms that the ones before it lack. What calls `loaded` needs it in its own shared library,
# which hides it.
get_property(rooms GLOBAL PROPERTY RDMABENCH_ROOMS)
list(TRANSFORM rooms REPLACE "^rdmabench_room_" "")
set(measure base measure)
set(report import loaded results report health analysis)
set(all fabric collective netplugin)
list(REMOVE_ITEM rooms ${measure} ${report} ${all})
if(BUILD_SHARED_LIBS)
  list(APPEND rooms loaded)
  list(APPEND all loaded)
endif()
rdmabench_library(measure OUTPUT rdmabench-measure DESCRIPTION "statistics of samples, clocks and units"
  ROOMS ${measure} USES fmt)
rdmabench_library(report OUTPUT rdmabench-report DESCRIPTION "results, documents, comparisons and the doctor"
  ROOMS ${report} LINK measure USES fmt pugixml)
rdmabench_library(run OUTPUT rdmabench-run DESCRIPTION "measurements between two processes"
  ROOMS ${rooms} LINK report USES fmt)
rdmabench_library(rdmabench OUTPUT rdmabench DESCRIPTION "${PROJECT_DESCRIPTION}"
  ROOMS ${all} LINK run USES fmt)
target_link_libraries(rdmabench_report PRIVATE ${RDMABENCH_PUGIXML})
# Headers of its back ends' endpoints include these.
get_property(backends GLOBAL PROPERTY RDMABENCH_BACKENDS)
foreach(backend IN LISTS backends)
  string(TOUPPER ${backend} name)
  if(TARGET PkgConfig::RDMABENCH_${name})
    target_include_directories(rdmabench_run SYSTEM PUBLIC
      $<BUILD_INTERFACE:$<TARGET_PROPERTY:PkgConfig::RDMABENCH_${name},INTERFACE_INCLUDE_DIRECTORIES>>)
  endif()
endforeach()

install(DIRECTORY include/rdmabench DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES "${PROJECT_BINARY_DIR}/include/rdmabench/features.h"
              "${PROJECT_BINARY_DIR}/include/rdmabench/endpoints.h"
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rdmabench)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rdmabench)
install(EXPORT rdmabench-targets NAMESPACE rdmabench:: DESTINATION ${package_dir})
configure_package_config_file(cmake/rdmabench-config.cmake.in
  "${PROJECT_BINARY_DIR}/rdmabench-config.cmake" INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/rdmabench-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/rdmabench-config.cmake"
        "${PROJECT_BINARY_DIR}/rdmabench-config-version.cmake" DESTINATION ${package_dir})

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Comments of headers name pages of docs/, which link examples/.
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.json" PATTERN "*.png")
