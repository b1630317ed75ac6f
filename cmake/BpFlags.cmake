# The only place where flags live. Every target of ours links bp_flags privately.
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

# Several sources in one go (CMAKE_UNITY_BUILD of the presets): most of a compile's time is reading headers and
# making the same templates, and it halves. So names in unnamed namespaces are unique within a target.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 6 CACHE STRING "Sources in one go")

option(BP_WERROR "Warnings are errors" ON)

add_library(bp_flags INTERFACE)
target_include_directories(bp_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
target_compile_options(
  bp_flags
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor
            -Woverloaded-virtual -Wimplicit-fallthrough
            -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=
            # The compiler collects its garbage more rarely: up to a tenth less of time for 0.1 GB.
            $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=400000>
            # It takes what a source that is compiled with others declares for a header's.
            $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>
            $<$<BOOL:${BP_WERROR}>:-Werror>
            $<$<CONFIG:Debug>:-D_GLIBCXX_ASSERTIONS>)
if(BP_SANITIZE)
  # Plugins and libraries alike must be instrumented the same way, so these are global. A null pointer that is
  # used is AddressSanitizer's to report; to look for it before each use took an eighth of the build.
  add_compile_options(-fsanitize=${BP_SANITIZE} -fno-sanitize=null -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BP_SANITIZE})
endif()

if(BP_COVERAGE)
  # Each program counts in a file of its own name that it maps (%c) and that all its processes share (%m), so that what
  # a process ran is counted however it ends: by _exit, exec or a signal. Warnings are the other presets' matter.
  add_compile_options(-fprofile-instr-generate=${CMAKE_BINARY_DIR}/profiles/$<TARGET_PROPERTY:NAME>-%c%m.profraw
                      -fcoverage-mapping "SHELL:-mllvm -runtime-counter-relocation" -w)
  add_link_options(-fprofile-instr-generate)
endif()

if(BP_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # counts which branches were taken
endif()

find_program(BP_LLD ld.lld)
if(BP_LLD AND NOT BP_SANITIZE)
  add_link_options(-fuse-ld=lld)
endif()

find_program(BP_CCACHE ccache)
if(BP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Depend mode: what it has not seen yet, on a fresh machine everything, is not preprocessed beforehand. The
  # sloppiness is what precompiled headers ask for: a __TIME__ in one would not be seen.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${BP_CCACHE})
endif()
