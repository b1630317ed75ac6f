# CTest includes this file when it starts, and then the list of areas that BpTests.cmake has written. It finds the suites
# of an area in its sources. tests/unit/check_suites.py compares them with the tests that the programs contain.
function(bp_add_suites area program sources labels timeout processors environment)
  foreach(source IN LISTS sources)
    file(STRINGS ${source} lines REGEX "^(TEST|TEST_F|TEST_P|TYPED_TEST)\\(")
    list(TRANSFORM lines REPLACE "^[A-Z_]+\\(([A-Za-z0-9_]+).*" "\\1")
    list(APPEND suites ${lines})
  endforeach()
  list(REMOVE_DUPLICATES suites)
  foreach(suite IN LISTS suites)
    add_test("${area}.${suite}" "${program}" "--gtest_filter=${suite}.*:*/${suite}.*:${suite}/*:*/${suite}/*")
    set_tests_properties(
      "${area}.${suite}"
      PROPERTIES LABELS "${labels}"
                 TIMEOUT ${timeout}
                 COST ${timeout} # starts the long tests first, so that none runs alone at the end
                 PROCESSORS ${processors}
                 ENVIRONMENT "${environment}")
  endforeach()
endfunction()
