# bp_cuda_plugin(target library source archs flags...): a library with code for CUDA devices, which a program opens at run
# time, so only it needs a CUDA toolkit, and only to build. Without one, or with sanitizers, which do not see what runs on a
# device, there is no target.
set(BP_CUDA AUTO CACHE STRING "Build libbp_cuda.so and libbp_model_cuda.so: AUTO (if nvcc is found), ON or OFF")

function(bp_cuda_plugin target library source archs)
  if(BP_SANITIZE OR BP_FUZZ OR BP_COVERAGE OR BP_CUDA STREQUAL "OFF")
    return()
  endif()
  find_program(BP_NVCC nvcc PATHS /usr/local/cuda/bin $ENV{CUDA_HOME}/bin)
  if(NOT BP_NVCC)
    if(NOT BP_CUDA STREQUAL "AUTO")
      message(FATAL_ERROR "BP_CUDA is ${BP_CUDA}, but nvcc is not found; add it to PATH or set BP_NVCC")
    endif()
    return()
  endif()

  # The devices that this toolkit has, and code from which the driver makes that of later ones.
  execute_process(COMMAND ${BP_NVCC} --list-gpu-arch OUTPUT_VARIABLE _known COMMAND_ERROR_IS_FATAL ANY)
  foreach(_arch ${archs})
    if(_known MATCHES "compute_${_arch}\n")
      list(APPEND _code -gencode=arch=compute_${_arch},code=sm_${_arch})
      set(_last ${_arch})
    endif()
  endforeach()
  list(APPEND _code -gencode=arch=compute_${_last},code=compute_${_last})

  set(_object ${CMAKE_CURRENT_BINARY_DIR}/${target}.o)
  set(_library ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${library})
  add_custom_command(
    OUTPUT ${_library}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${BP_NVCC} -std=c++20 -O2 --threads=2 ${ARGN} --expt-relaxed-constexpr ${_code} -I${PROJECT_SOURCE_DIR}
            -I${PROJECT_SOURCE_DIR}/include -Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Wextra -Werror=all-warnings -MD -MF
            ${_object}.d -MT ${_library} -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${_object}
    COMMAND ${BP_NVCC} -shared -cudart=shared ${_object} -o ${_library}
    DEPENDS ${source}
    DEPFILE ${_object}.d
    COMMENT "Building CUDA library ${library}"
    VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(${target} ALL DEPENDS ${_library})
  set_property(TARGET ${target} PROPERTY BP_LIBRARY ${_library})
endfunction()
