# All compiler and linker flags. Every target of bp links bp_flags privately.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# The public headers give their namespace default visibility. GCC takes that for the definitions of functions too, Clang
# does not; with Clang, cmake/exports.map alone decides what a library exports, which includes bp's internal functions.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
  set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# -O2: g++ 12 gives false -Wrestrict warnings at -O3. -g1: names and lines for backtraces.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1")

option(BP_WERROR "Warnings are errors" ON)
file(RELATIVE_PATH _up ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})

add_library(bp_flags INTERFACE)
target_include_directories(bp_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
target_compile_options(
  bp_flags
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor
            -Woverloaded-virtual -Wimplicit-fallthrough
            # Paths in messages begin at the root of this tree, also if ccache has made them relative.
            -ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=${_up}/=
            # Rarer garbage collection in the compiler: up to a tenth less time for 0.1 GB more memory.
            $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=400000>
            # In a unity build GCC takes the declarations of a source for those of a header.
            $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${BP_UNITY}>>:-Wno-subobject-linkage>
            $<$<BOOL:${BP_WERROR}>:-Werror>
            $<$<CONFIG:Debug>:-D_GLIBCXX_ASSERTIONS>)
if(BP_SANITIZE)
  # Plugins and libraries must all be instrumented in the same way, so these flags are global. AddressSanitizer reports
  # uses of null pointers; the check before each use took an eighth of the build. The check of an object's type opens a
  # pipe, which a test with few descriptors has not left.
  add_compile_options(-fsanitize=${BP_SANITIZE} -fno-sanitize=null,vptr -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BP_SANITIZE})
endif()

if(BP_COVERAGE)
  # Each program maps a file with its own name (%c), which all its processes share (%m). So the lines that a process ran
  # are counted however it ends: by _exit, exec or a signal. The other presets report warnings.
  add_compile_options(-fprofile-instr-generate=${CMAKE_BINARY_DIR}/profiles/$<TARGET_PROPERTY:NAME>-%c%m.profraw
                      -fcoverage-mapping "SHELL:-mllvm -runtime-counter-relocation" -w)
  add_link_options(-fprofile-instr-generate)
endif()

if(BP_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # counts the branches that are taken
endif()

find_program(BP_LLD ld.lld)
if(BP_LLD)
  add_link_options(-fuse-ld=lld)
endif()

find_program(BP_CCACHE ccache)
if(BP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # In depend mode ccache does not preprocess a source that it does not know, which is each one on a fresh machine.
  # Precompiled headers need the sloppiness, with which ccache would miss a change of __TIME__ in one. Paths below the
  # base directory become relative, so another clone finds the same objects.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_DEPEND=1 CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
                                  CCACHE_SLOPPINESS=pch_defines,time_macros ${BP_CCACHE})
endif()
