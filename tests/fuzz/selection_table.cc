// The file by which ranks choose algorithms (comm_bench --tune). An accepted file must be the same
// after it is written and read again.
#include "comm/backend/common/selection_table.h"

#include <cstdlib>
#include <sstream>

#include "fuzz.h"

FUZZ_TARGET(selection_table) {
  using namespace bp;
  std::istringstream in(bp::test::text_of(data, size));
  bp::test::read_anything([&] {
    const SelectionTable table(in, "table");
    std::stringstream text;
    table.write(text);
    const auto again = bp::test::read_own([&] { return SelectionTable(text, "again"); });
    if (again.hash() != table.hash()) std::abort();
  });
  return 0;
}
