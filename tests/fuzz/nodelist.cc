// Slurm's lists of nodes: a line of names in short form, a line of counts, and both as an
// allocation.
#include "launcher/hosts/nodelist.h"

#include <algorithm>
#include <cstdlib>

#include "fuzz.h"
#include "launcher/hosts/allocation.h"

FUZZ_TARGET(nodelist) {
  using namespace bp::launcher;
  const std::string text = bp::test::text_of(data, size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string names = text.substr(0, end);
  const std::string counts = text.substr(std::min(end + 1, text.size()));
  bp::test::read_anything([&] {
    if (parse_nodelist(names, "names").empty()) std::abort();
  });
  bp::test::read_anything([&] {
    for (const int count : parse_node_counts(counts, "counts")) {
      if (count < 1) std::abort();
    }
  });
  // find_allocation() compares all pairs of names, so long lists are left out.
  constexpr std::size_t kFew = 64;
  bp::test::read_anything([&] {
    if (parse_nodelist(names, "names").size() > kFew) return;
    (void)find_allocation(bp::Variables(
        bp::Variables::Map{{"SLURM_JOB_NODELIST", names}, {"SLURM_TASKS_PER_NODE", counts}}));
  });
  return 0;
}
