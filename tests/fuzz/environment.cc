// The environment of a rank that bprun or another engine started, one variable per line.
#include <cstdlib>
#include <sstream>

#include "comm/topology/environment_reader.h"
#include "fuzz.h"

FUZZ_TARGET(environment) {
  bp::Variables::Map map;
  std::istringstream lines(bp::test::text_of(data, size));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) map[line.substr(0, equals)] = line.substr(equals + 1);
  }
  bp::test::read_anything([&] {
    const bp::Environment environment = bp::read_environment(bp::Variables(map));
    if (environment.topology.rank >= environment.topology.size()) std::abort();
  });
  return 0;
}
