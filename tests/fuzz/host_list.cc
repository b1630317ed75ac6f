// The hosts of -H. Accepted hosts must get ranks, or an error that they are too few.
#include "fuzz.h"
#include "launcher/hosts/host_entry.h"
#include "launcher/hosts/placement.h"

FUZZ_TARGET(host_list) {
  using namespace bp::launcher;
  bp::test::read_anything([&] {
    const Hosts hosts = parse_host_list(bp::test::text_of(data, size));
    (void)place_ranks(hosts, std::nullopt);
    (void)place_ranks(hosts, 3);
  });
  return 0;
}
