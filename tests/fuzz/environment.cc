// The environment of a rank, of bprun or of another launcher: a variable a line.
#include "bp/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "fuzz.h"

namespace {

constexpr std::array kNames = {
    "RANK",   "WORLD_SIZE", "BP_LOCAL_SIZES",       "BP_HOST_NAMES", "BP_STORE",
    "BP_JOB", "BP_KEY_FD",  "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",      "SLURM_STEP_NUM_TASKS"};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const char* name : kNames) ::unsetenv(name);
  std::istringstream lines(bp::test::text_of(data, size));
  for (std::string line; std::getline(lines, line);) {
    line = line.c_str();  // a variable ends at a NUL
    const std::string name = line.substr(0, line.find('='));
    const bool known = std::find(kNames.begin(), kNames.end(), name) != kNames.end();
    if (known && name.size() < line.size()) {
      ::setenv(name.c_str(), line.substr(name.size() + 1).c_str(), 1);
    }
  }
  bp::test::read_anything([] {
    const bp::Environment environment = bp::Environment::current();
    if (environment.topology.rank >= environment.topology.size()) std::abort();
  });
  return 0;
}
