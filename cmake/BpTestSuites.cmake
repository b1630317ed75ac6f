# CTest includes this file when it starts, and then the list of areas that BpTests.cmake has written. It finds the suites
# of an area in its sources. tests/unit/check_suites.py compares them with the tests that the programs contain.
function(bp_add_suites area program sources labels timeout processors apart environment)
  foreach(source IN LISTS sources)
    file(STRINGS ${source} lines REGEX "^(TEST|TEST_F|TEST_P|TYPED_TEST)\\(")
    if(apart)
      list(TRANSFORM lines REPLACE "^[A-Z_]+\\(([A-Za-z0-9_]+), ([A-Za-z0-9_]+)\\).*" "\\1.\\2")
    else()
      list(TRANSFORM lines REPLACE "^[A-Z_]+\\(([A-Za-z0-9_]+).*" "\\1")
    endif()
    list(APPEND suites ${lines})
  endforeach()
  list(REMOVE_DUPLICATES suites)
  foreach(suite IN LISTS suites)
    set(filter "${suite}.*:*/${suite}.*:${suite}/*:*/${suite}/*")
    if(apart)
      set(filter "${suite}:*/${suite}/*")
    endif()
    add_test("${area}.${suite}" "${program}" "--gtest_filter=${filter}")
    set_tests_properties(
      "${area}.${suite}"
      PROPERTIES LABELS "${labels}"
                 TIMEOUT ${timeout}
                 COST ${timeout} # starts the long tests first, so that none runs alone at the end
                 PROCESSORS ${processors}
                 ENVIRONMENT "${environment}")
  endforeach()
endfunction()
