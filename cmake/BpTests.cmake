# GoogleTest programs. Few programs contain all tests, because linking each takes seconds. CTest runs each suite in a
# process of its own, so a crash costs its suite only.
#
#   bp_test_program(NAME LIBS libs... LABELS labels... [TORCH] [PROCESSES])
#   bp_test(AREA IN program sources... [SUITES sources...] [LIBS libs...] [TIMEOUT s] [PROCESSORS n] [APART]
#           [ENV VAR=value...] [SPINS])
#
# A program's tests come from areas. An area's suites are AREA.SUITE in CTest: `ctest -R '^AREA\\.'` runs them. TORCH
# precompiles headers of LibTorch, too. The tests of a program with PROCESSES start ranks with run_processes.h. SUITES
# names test sources that the program links as objects. TIMEOUT is that of a suite. APART lists each test by itself, as
# AREA.SUITE.TEST: tests that wait for long and share nothing then run side by side. SPINS keeps how libgomp waits.
#
# Labels: unit (seconds, no sockets beyond loopback), ranks, e2e, hosts (namespaces of this machine as hosts), torch.
find_package(GTest REQUIRED)

# The environment of the tests and of the processes that they start. Reports go to files, because a rank's stderr may be
# a pipe that no test reads to its end; scripts/test fails if there is a report. The history is long, because a race
# whose older half is forgotten matches no suppression. By default every process sleeps a second at its end.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/sanitizer-reports)
set(_report log_path=${CMAKE_BINARY_DIR}/sanitizer-reports/report)
if(BP_SANITIZE MATCHES thread)
  set(BP_TEST_ENVIRONMENT
      TSAN_OPTIONS=${_report}:suppressions=${CMAKE_SOURCE_DIR}/cmake/tsan.supp:history_size=7:atexit_sleep_ms=50)
elseif(BP_SANITIZE)
  set(BP_TEST_ENVIRONMENT ASAN_OPTIONS=${_report} UBSAN_OPTIONS=${_report})
endif()

# The code under test is optimised. The tests themselves need not be, and so compile in a quarter less time.
set(BP_TEST_OPTIONS $<$<CONFIG:Release>:-Og>)
if(BP_SANITIZE MATCHES undefined)
  # Its checks are for the code under test, and take longer to compile than the rest of a test.
  list(APPEND BP_TEST_OPTIONS -fno-sanitize=undefined)
endif()

# BpTestSuites.cmake lists the suites when CTest starts.
set(BP_TEST_AREAS ${CMAKE_BINARY_DIR}/tests/areas.cmake)
file(WRITE ${BP_TEST_AREAS} "")

function(bp_test_program name)
  cmake_parse_arguments(arg "TORCH;PROCESSES" "" "LIBS;LABELS" ${ARGN})
  add_executable(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
                                           POSITION_INDEPENDENT_CODE OFF BP_TEST_LABELS "${arg_LABELS}")
  set(main GTest::gtest_main)
  if(arg_PROCESSES)
    set(main bp_test_processes)
  endif()
  target_link_libraries(${name} PRIVATE bp_flags ${arg_LIBS} bp_test_places GTest::gmock ${main})
  target_compile_options(${name} PRIVATE ${BP_TEST_OPTIONS})
  set(torch)
  if(arg_TORCH)
    set(torch torch)
  endif()
  bp_precompile(EXECUTABLE std tests ${torch} TARGETS ${name})
endfunction()

function(bp_test area)
  cmake_parse_arguments(arg "APART;SPINS" "IN;TIMEOUT;PROCESSORS" "SUITES;LIBS;ENV" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  target_sources(${arg_IN} PRIVATE ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${arg_IN} PRIVATE ${arg_LIBS})
  # Sources of one area are compiled at once: a name in an unnamed namespace may occur again in another area.
  list(FILTER arg_UNPARSED_ARGUMENTS INCLUDE REGEX "\\.cc$")
  set_source_files_properties(${arg_UNPARSED_ARGUMENTS} TARGET_DIRECTORY ${arg_IN} PROPERTIES BP_BATCH ${area})
  set(suites ${arg_UNPARSED_ARGUMENTS} ${arg_SUITES})
  list(FILTER suites INCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM suites PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  get_target_property(labels ${arg_IN} BP_TEST_LABELS)
  # Many tests run at once. Threads of libgomp that spin while they wait would keep the others from the cores.
  if("torch" IN_LIST labels AND NOT "e2e" IN_LIST labels AND NOT arg_SPINS)
    list(APPEND arg_ENV GOMP_SPINCOUNT=0)
  endif()
  file(APPEND ${BP_TEST_AREAS}
       "bp_add_suites(\"${area}\" \"${CMAKE_BINARY_DIR}/tests/${arg_IN}\" \"${suites}\" \"${labels}\" \
${arg_TIMEOUT} ${arg_PROCESSORS} ${arg_APART} \"${arg_ENV};${BP_TEST_ENVIRONMENT}\")\n")
endfunction()
