// sampler_regrets TRIALS SEEDS [ATONCE]: searches each function of test_functions.h with random and
// tpe, and prints, per function, sampler and seed, the least value found minus the minimum. ATONCE
// trials run at a time (default 1). Used by tests/oracle/sampler.
#include <cstdio>
#include <cstdlib>

#include "tests/unit/launcher/sweep/search.h"

int main(int argc, char** argv) {
  namespace sweep = bp::launcher::sweep;
  if (argc < 3) return 2;
  const int trials = std::atoi(argv[1]);
  const int seeds = std::atoi(argv[2]);
  const int at_once = argc > 3 ? std::atoi(argv[3]) : 1;
  for (const auto& function : sweep::kTestFunctions) {
    for (const char* sampler : {"random", "tpe"}) {
      for (int seed = 0; seed < seeds; ++seed) {
        const double regret = sweep::regret_of(function, sampler, trials, seed, at_once);
        std::printf("%s %s %d %.17g\n", function.name, sampler, seed, regret);
      }
    }
  }
  return 0;
}
