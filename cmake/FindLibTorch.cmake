# LibTorch without its own CMake package: that one fails where there is no CUDA toolkit and drags
# CUDA in where there is one. Programs link libtorch_cpu and libc10 only.
#
#   LibTorch::torch   imported target: headers, libtorch_cpu.so, libc10.so
#
# Looks in LIBTORCH_ROOT, CMAKE_PREFIX_PATH, LibTorch_BUILT_WITH (the installed package says it) and
# .deps/wheels/torch (where scripts/setup puts the wheel).
find_path(
  LibTorch_INCLUDE_DIR ATen/core/Tensor.h
  HINTS ${LIBTORCH_ROOT} ${LibTorch_BUILT_WITH} ${CMAKE_CURRENT_LIST_DIR}/../.deps/wheels/torch
  PATH_SUFFIXES include)
get_filename_component(LibTorch_ROOT_DIR "${LibTorch_INCLUDE_DIR}" DIRECTORY)
find_library(LibTorch_CPU_LIBRARY torch_cpu HINTS ${LibTorch_ROOT_DIR}/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10 HINTS ${LibTorch_ROOT_DIR}/lib NO_DEFAULT_PATH)

if(EXISTS "${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h")
  file(STRINGS "${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h" LibTorch_VERSION
       REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]+" "" LibTorch_VERSION "${LibTorch_VERSION}")
  list(JOIN LibTorch_VERSION . LibTorch_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_INCLUDE_DIR LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "run scripts/setup, or pass -DCMAKE_PREFIX_PATH=<libtorch folder>")

if(LibTorch_FOUND AND NOT TARGET LibTorch::torch)
  add_library(LibTorch::c10 SHARED IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES IMPORTED_LOCATION ${LibTorch_C10_LIBRARY})
  add_library(LibTorch::torch SHARED IMPORTED)
  set_target_properties(LibTorch::torch PROPERTIES IMPORTED_LOCATION ${LibTorch_CPU_LIBRARY})
  target_include_directories(
    LibTorch::torch SYSTEM INTERFACE ${LibTorch_INCLUDE_DIR}
                                     ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include)
  target_link_libraries(LibTorch::torch INTERFACE LibTorch::c10)
  # libtorch_cpu.so needs libcudart and libcupti, which the wheel finds beside itself at run time.
  get_filename_component(_site "${LibTorch_ROOT_DIR}" DIRECTORY)
  foreach(_folder ${_site}/nvidia/cu13/lib ${_site}/nvidia/cuda_runtime/lib ${LibTorch_ROOT_DIR}/lib)
    if(IS_DIRECTORY ${_folder})
      target_link_options(LibTorch::torch INTERFACE -Wl,-rpath-link,${_folder})
    endif()
  endforeach()
endif()
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY)
