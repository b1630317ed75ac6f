# Precompiled headers, because most of a test's compile time goes into reading GoogleTest and ATen. The presets dev and
# comm-only do without, because they hide a missing include. At -O2, so for libraries in the preset release, GCC 12 would
# no longer treat the standard library's headers as the system's and warn about std::string.
option(BP_PCH "Precompile the headers that most files include" OFF)

set(BP_PCH_std <algorithm> <array> <chrono> <filesystem> <functional> <map> <memory> <mutex> <optional>
               <span> <string> <string_view> <utility> <vector>)
set(BP_PCH_tests <gmock/gmock.h> <gtest/gtest.h>)
set(BP_PCH_torch <ATen/ATen.h> <torch/optim/optimizer.h>)

# bp_precompile(TYPE SET... TARGETS target...): gives the targets the headers of the sets, compiled once. TYPE is
# LIBRARY or EXECUTABLE, as the targets are, because the two are compiled with different flags.
function(bp_precompile type)
  cmake_parse_arguments(arg "" "" "TARGETS" ${ARGN})
  if(NOT BP_PCH OR (type STREQUAL LIBRARY AND CMAKE_BUILD_TYPE STREQUAL Release))
    return()
  endif()
  list(JOIN arg_UNPARSED_ARGUMENTS _ owner)
  string(TOLOWER bp_pch_${type}_${owner} owner)
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch.cc CONTENT "int main() {}\n")
    add_library(${owner} OBJECT ${CMAKE_BINARY_DIR}/pch.cc)
    target_link_libraries(${owner} PRIVATE bp_flags)
    if(type STREQUAL EXECUTABLE)
      # An executable's objects have CMake's -fPIE or, as here and in bp_test_program, the compiler's default.
      set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${owner} PRIVATE ${BP_TEST_OPTIONS})
    endif()
    foreach(set ${arg_UNPARSED_ARGUMENTS})
      target_precompile_headers(${owner} PRIVATE ${BP_PCH_${set}})
      target_link_libraries(${owner} PRIVATE $<$<STREQUAL:${set},tests>:GTest::gmock>
                                             $<$<STREQUAL:${set},torch>:LibTorch::torch>)
    endforeach()
  endif()
  foreach(target ${arg_TARGETS})
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endforeach()
endfunction()
