# LibTorch without its own CMake package: that one fails where there is no CUDA toolkit and drags
# CUDA in where there is one. Programs link libtorch_cpu and libc10 only.
#
#   LibTorch::torch   imported target: headers, libtorch_cpu.so, libc10.so
#
# Looks in LIBTORCH_ROOT, CMAKE_PREFIX_PATH, TORCH_INSTALL_PREFIX (where find_package(Torch) has found it),
# LibTorch_BUILT_WITH (the installed package says it) and .deps/wheels/torch (where scripts/setup puts the
# wheel). A LibTorch with the old ABI of std::string, as PyPI's wheels before 2.7 have, counts as not found.
find_path(
  LibTorch_INCLUDE_DIR ATen/core/Tensor.h
  HINTS ${LIBTORCH_ROOT} ${TORCH_INSTALL_PREFIX} ${LibTorch_BUILT_WITH}
        ${CMAKE_CURRENT_LIST_DIR}/../.deps/wheels/torch
  PATH_SUFFIXES include)
get_filename_component(LibTorch_ROOT_DIR "${LibTorch_INCLUDE_DIR}" DIRECTORY)
find_library(LibTorch_CPU_LIBRARY torch_cpu HINTS ${LibTorch_ROOT_DIR}/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10 HINTS ${LibTorch_ROOT_DIR}/lib NO_DEFAULT_PATH)

# Where 2.10 and later have their version, and where earlier ones have.
foreach(_header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
  if(EXISTS "${LibTorch_INCLUDE_DIR}/${_header}")
    file(STRINGS "${LibTorch_INCLUDE_DIR}/${_header}" LibTorch_VERSION
         REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
    string(REGEX REPLACE "[^0-9;]+" "" LibTorch_VERSION "${LibTorch_VERSION}")
    list(JOIN LibTorch_VERSION . LibTorch_VERSION)
    break()
  endif()
endforeach()

set(_reason "run scripts/setup, or pass -DCMAKE_PREFIX_PATH=<libtorch folder>")
set(_abi_file ${LibTorch_ROOT_DIR}/share/cmake/Torch/TorchConfig.cmake)
set(LibTorch_ABI_FITS TRUE)
if(EXISTS ${_abi_file})
  file(STRINGS ${_abi_file} _old_abi REGEX "_GLIBCXX_USE_CXX11_ABI=0")
  if(_old_abi)
    set(LibTorch_ABI_FITS FALSE)
    set(_reason "LibTorch ${LibTorch_VERSION} in ${LibTorch_ROOT_DIR} was built with _GLIBCXX_USE_CXX11_ABI=0, \
bp is not: take a libtorch-cxx11-abi archive, or a wheel of 2.7 or later")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_INCLUDE_DIR LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY LibTorch_ABI_FITS
  VERSION_VAR LibTorch_VERSION
  HANDLE_VERSION_RANGE
  REASON_FAILURE_MESSAGE ${_reason})

if(LibTorch_FOUND AND NOT TARGET LibTorch::torch)
  add_library(LibTorch::c10 SHARED IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES IMPORTED_LOCATION ${LibTorch_C10_LIBRARY})
  add_library(LibTorch::torch SHARED IMPORTED)
  set_target_properties(LibTorch::torch PROPERTIES IMPORTED_LOCATION ${LibTorch_CPU_LIBRARY})
  target_include_directories(
    LibTorch::torch SYSTEM INTERFACE ${LibTorch_INCLUDE_DIR}
                                     ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include)
  target_link_libraries(LibTorch::torch INTERFACE LibTorch::c10)
  # libtorch_cpu.so needs libcudart and libcupti, which the wheel finds beside itself at run time: those of
  # CUDA 13 in one folder, those of CUDA 12 in one for each package.
  get_filename_component(_site "${LibTorch_ROOT_DIR}" DIRECTORY)
  foreach(_folder ${_site}/nvidia/cu13/lib ${_site}/nvidia/cuda_runtime/lib ${_site}/nvidia/cuda_cupti/lib
                  ${LibTorch_ROOT_DIR}/lib)
    if(IS_DIRECTORY ${_folder})
      target_link_options(LibTorch::torch INTERFACE -Wl,-rpath-link,${_folder})
    endif()
  endforeach()
endif()
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY)
