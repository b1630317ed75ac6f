// Addresses from a user, a launcher or another host: of a store, of a store with its key, of a
// network and of GPUs, one per line. An accepted address must be the same after it is written and
// read again.
#include <cstdlib>
#include <sstream>

#include "comm/rendezvous/store_rendezvous.h"
#include "comm/topology/store_address.h"
#include "fuzz.h"
#include "launcher/gpus/choice.h"
#include "launcher/hosts/address.h"

namespace {

// Returns whether the network's prefix has no bits. Only such a network contains every address.
bool has_prefix_of_none(const std::string& network) {
  const std::string bits = network.substr(network.find('/') + 1);
  return !bits.empty() && bits.find_first_not_of('0') == std::string::npos;
}

void read_network(const std::string& line) {
  using bp::launcher::in_network;
  const bool has_all = (in_network("10.1.2.3", line) && in_network("245.1.2.3", line)) ||
                       (in_network("fd00::1", line) && in_network("2d00::1", line));
  if (has_all && !has_prefix_of_none(line)) std::abort();
}

}  // namespace

FUZZ_TARGET(addresses) {
  using namespace bp;
  std::istringstream lines(bp::test::text_of(data, size));
  for (std::string line; std::getline(lines, line);) {
    bp::test::read_anything([&] {
      const std::string once = parse_store_address(line).text();
      if (bp::test::read_own([&] { return parse_store_address(once).text(); }) != once) {
        std::abort();
      }
    });
    bp::test::read_anything([&] {
      const std::string once = to_text(parse_endpoint(line));
      if (bp::test::read_own([&] { return to_text(parse_endpoint(once)); }) != once) std::abort();
    });
    bp::test::read_anything([&] {
      const auto request = launcher::parse_gpu_request(line);
      if (request.kind == launcher::GpuRequest::Kind::list && request.list.empty()) std::abort();
    });
    read_network(line);
  }
  return 0;
}
