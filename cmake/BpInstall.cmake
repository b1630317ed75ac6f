# The components of `cmake --install`:
#
#   comm      libbp_comm.so (and .a), libbp_gloo.so, include/bp, bp::comm for CMake, bp.pc
#   torch     libbp_torch.so, include/bp/torch, bp::torch for CMake; needs comm and a LibTorch
#   trainer   libbp_trainer.so, include/bp/trainer, bp::trainer for CMake; needs torch
#   programs  bprun, bprun-sweep, comm_bench, bert_train, their man pages, and bash completion for bprun and bert_train
#
# The installed tree may be moved: its files find each other by relative paths. LibTorch is not part of it
# and keeps the path that it had when bp was built.
include(CMakePackageConfigHelpers)
set(BP_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/bp)

# bp_shared_library(TARGET NAME): makes libbp_NAME.so, which users link as bp::NAME. It exports the symbols that the
# public headers declare (bp/export.h), and none of the standard library's templates that it contains.
function(bp_shared_library target name)
  set_target_properties(
    ${target}
    PROPERTIES OUTPUT_NAME bp_${name}
               EXPORT_NAME ${name}
               VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
               LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exports.map)
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_options(${target} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exports.map
                      -Wl,--no-undefined)
  install(TARGETS ${target} EXPORT bpTargets-${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${name})
  install(EXPORT bpTargets-${name} FILE bpTargets-${name}.cmake NAMESPACE bp:: DESTINATION ${BP_CMAKE_DIR} COMPONENT ${name})
endfunction()

add_library(bp_comm_shared SHARED $<TARGET_OBJECTS:bp_comm>)
target_link_libraries(bp_comm_shared PRIVATE bp_comm) # for the libraries that bp_comm links
bp_shared_library(bp_comm_shared comm)
install(TARGETS bp_comm ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT comm)
install(DIRECTORY include/bp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT comm
        PATTERN include/bp/torch EXCLUDE PATTERN include/bp/trainer EXCLUDE)

string(REGEX REPLACE "[^/]+" ".." BP_PREFIX_FROM_PC ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_file(cmake/bp.pc.in ${CMAKE_BINARY_DIR}/bp.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/bp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT comm)
configure_file(cmake/bpConfig.cmake.in ${CMAKE_BINARY_DIR}/bpConfig.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/bpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/bpConfig.cmake ${CMAKE_BINARY_DIR}/bpConfigVersion.cmake
        DESTINATION ${BP_CMAKE_DIR} COMPONENT comm)

if(BP_TORCH)
  # bp::torch uses these sources of bp::comm, which libbp_comm.so does not export, so it has its own copy. None has
  # state.
  set(_kernels comm/reduce/convert.cc comm/reduce/copy.cc comm/reduce/reduce.cc comm/reduce/scale.cc)
  add_library(bp_torch_shared SHARED $<TARGET_OBJECTS:bp_torch> base/check.cc base/names.cc base/permutation.cc
                                     base/text.cc comm/device/host_memory.cc comm/reduce/finite.cc ${_kernels})
  set_source_files_properties(${_kernels} PROPERTIES BP_ALONE ON) # as in comm/reduce
  target_link_libraries(bp_torch_shared PRIVATE bp_flags hwy::hwy PUBLIC bp_comm_shared LibTorch::torch)
  target_link_options(bp_torch_shared PRIVATE -fopenmp)
  bp_shared_library(bp_torch_shared torch)
  set_target_properties(bp_torch_shared PROPERTIES INSTALL_RPATH "\$ORIGIN;${LibTorch_ROOT_DIR}/lib")
  install(DIRECTORY include/bp/torch DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bp COMPONENT torch)
  install(FILES cmake/FindLibTorch.cmake DESTINATION ${BP_CMAKE_DIR} COMPONENT torch)

  # It exports nothing of bp::comm and bp::torch.
  bp_shared_library(bp_trainer_shared trainer)
  target_link_options(bp_trainer_shared PRIVATE -Wl,--exclude-libs,ALL)
  set_target_properties(bp_trainer_shared PROPERTIES INSTALL_RPATH "\$ORIGIN;${LibTorch_ROOT_DIR}/lib")
  install(DIRECTORY include/bp/trainer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bp COMPONENT trainer)
endif()

# The programs need the plugins, and bert_train needs libbp_trainer.so, but not libbp_comm.so.
if(TARGET bp_trainer_shared)
  install(TARGETS bp_trainer_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT programs)
endif()
foreach(component comm programs)
  install(TARGETS bp_gloo LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
  if(TARGET bp_cuda)
    get_target_property(_bp_cuda bp_cuda BP_LIBRARY)
    install(PROGRAMS ${_bp_cuda} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
  endif()
endforeach()
if(TARGET bp_model_cuda)
  get_target_property(_bp_model_cuda bp_model_cuda BP_LIBRARY)
  install(PROGRAMS ${_bp_model_cuda} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT programs)
endif()
# scripts/man makes the man pages from the programs' --help, if Python is installed.
set(BP_COMMANDS_bprun doctor gpus)
set(BP_COMMANDS_bprun-sweep status best stop retry)
set(BP_COMMANDS_bert_train prep check estimate scale sweep eval predict export merge shards stop report runs)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/man)
foreach(program bprun bprun-sweep comm_bench bert_train)
  if(TARGET ${program})
    list(JOIN BP_COMMANDS_${program} " " commands)
    set(page ${CMAKE_BINARY_DIR}/man/${program}.1)
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
    install(CODE "execute_process(COMMAND \"${CMAKE_SOURCE_DIR}/scripts/man\" \"$<TARGET_FILE:${program}>\" ${commands}
                                  OUTPUT_FILE \"${page}\" RESULT_VARIABLE failed)
                  if(failed)
                    message(STATUS \"No man page of ${program}: \${failed}\")
                    file(REMOVE \"${page}\")
                  endif()" COMPONENT programs)
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs OPTIONAL)
  endif()
endforeach()
if(TARGET bert_train)
  install(FILES cmake/bert_train.completion DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME bert_train COMPONENT programs)
endif()
install(FILES cmake/bprun.completion DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME bprun COMPONENT programs)
