# Finds LibTorch without its own CMake package, which fails without a CUDA toolkit and links CUDA with one.
# Programs link libtorch_cpu and libc10 only.
#
#   LibTorch::torch   imported target: headers, libtorch_cpu.so, libc10.so
#
# It searches LIBTORCH_ROOT, CMAKE_PREFIX_PATH, TORCH_INSTALL_PREFIX (which find_package(Torch) sets),
# LibTorch_BUILT_WITH (which the installed package sets) and .deps/wheels/torch (into which scripts/setup unpacks the
# wheel). A LibTorch with the old ABI of std::string, as in PyPI's wheels before 2.7, counts as not found.
find_path(
  LibTorch_INCLUDE_DIR ATen/core/Tensor.h
  HINTS ${LIBTORCH_ROOT} ${TORCH_INSTALL_PREFIX} ${LibTorch_BUILT_WITH}
        ${CMAKE_CURRENT_LIST_DIR}/../.deps/wheels/torch
  PATH_SUFFIXES include)
get_filename_component(LibTorch_ROOT_DIR "${LibTorch_INCLUDE_DIR}" DIRECTORY)
find_library(LibTorch_CPU_LIBRARY torch_cpu HINTS ${LibTorch_ROOT_DIR}/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10 HINTS ${LibTorch_ROOT_DIR}/lib NO_DEFAULT_PATH)

# The headers with the version: that of 2.10 and later, and that of earlier releases.
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
bp is not: use a libtorch-cxx11-abi archive, or a wheel of 2.7 or later")
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
  # libtorch_cpu.so needs libcudart and libcupti, which the wheel finds beside itself at run time: those of CUDA 13 are
  # in one folder, those of CUDA 12 in one folder for each package.
  get_filename_component(_site "${LibTorch_ROOT_DIR}" DIRECTORY)
  foreach(_folder ${_site}/nvidia/cu13/lib ${_site}/nvidia/cuda_runtime/lib ${_site}/nvidia/cuda_cupti/lib
                  ${LibTorch_ROOT_DIR}/lib)
    if(IS_DIRECTORY ${_folder})
      target_link_options(LibTorch::torch INTERFACE -Wl,-rpath-link,${_folder})
    endif()
  endforeach()
endif()
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY)
