// A hostfile. Accepted hosts must get ranks, or an error that they are too few.
#include "launcher/hosts/hostfile.h"

#include "fuzz.h"
#include "launcher/hosts/placement.h"

FUZZ_TARGET(hostfile) {
  using namespace bp::launcher;
  bp::test::read_anything([&] {
    const Hosts hosts = parse_hostfile(bp::test::text_of(data, size), "hosts");
    (void)place_ranks(hosts, std::nullopt);
    (void)place_ranks(hosts, 3);
  });
  return 0;
}
