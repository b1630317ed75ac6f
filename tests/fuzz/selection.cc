// The text of --include or --exclude (selected by the parity of the length) up to the end of its
// line, then the hosts. The hosts that are left must get ranks.
#include <algorithm>
#include <cstdlib>

#include "fuzz.h"
#include "launcher/hosts/host_entry.h"
#include "launcher/hosts/host_selection.h"
#include "launcher/hosts/placement.h"

FUZZ_TARGET(selection) {
  using namespace bp::launcher;
  const std::string text = bp::test::text_of(data, size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string choice = text.substr(0, end);
  bp::test::read_anything([&] {
    const Hosts hosts = parse_host_list(text.substr(std::min(end + 1, text.size())));
    const bool include = size % 2 == 0;
    const Hosts left =
        select_hosts(hosts, include ? HostSelection{choice, {}} : HostSelection{{}, choice});
    if (left.empty() || left.size() > hosts.size()) std::abort();
    (void)place_ranks(left, std::nullopt);
  });
  return 0;
}
