# bp_test(NAME sources... LIBS libs... LABELS labels... [TIMEOUT s] [PROCESSORS n] [ENV VAR=value...])
# One GoogleTest program. Labels: unit (seconds, no sockets beyond loopback), ranks, e2e, hosts
# (namespaces of this machine as hosts), torch.
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

function(bp_test name)
  cmake_parse_arguments(arg "" "TIMEOUT;PROCESSORS" "LIBS;LABELS;ENV" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  list(APPEND arg_ENV ${BP_TEST_ENVIRONMENT})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE bp_flags ${arg_LIBS} bp_test_places GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${BP_TEST_OPTIONS})
  # Those of e2e start bert_train, and do not link LibTorch.
  if("torch" IN_LIST arg_LABELS AND NOT "e2e" IN_LIST arg_LABELS)
    bp_precompile(EXECUTABLE std tests torch TARGETS ${name})
  else()
    bp_precompile(EXECUTABLE std tests TARGETS ${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(
    ${name}
    PROPERTIES LABELS "${arg_LABELS}"
               TIMEOUT ${arg_TIMEOUT}
               COST ${arg_TIMEOUT} # starts the long tests first, so that none runs alone at the end
               PROCESSORS ${arg_PROCESSORS}
               ENVIRONMENT "${arg_ENV}")
endfunction()
