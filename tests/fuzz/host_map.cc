// A host map in JSON. Accepted hosts must get ranks, or an error that they are too few.
#include "launcher/hosts/host_map.h"

#include "fuzz.h"
#include "launcher/hosts/placement.h"

FUZZ_TARGET(host_map) {
  using namespace bp::launcher;
  bp::test::read_anything([&] {
    const Hosts hosts = parse_host_map(bp::test::text_of(data, size), "map.json");
    (void)place_ranks(hosts, std::nullopt);
    (void)place_ranks(hosts, 3);
  });
  return 0;
}
