// Computes the mean of what several processes have measured, with bp::comm alone:
//
//   ./consumer                                   one rank
//   bprun -H localhost:3,127.0.0.1:1 consumer    four ranks on two (logical) hosts
//
// Rank 0 has one measurement, rank 1 has two, and so on: 1 | 2 3 | 4 5 6 | ... The mean of the
// ranks' means would be wrong, so the ranks add up sums and counts.
#include <bp/collective.h>
#include <bp/communicator.h>
#include <bp/error.h>

#include <array>
#include <cstdio>
#include <numeric>
#include <vector>

namespace {

std::vector<double> measure(int rank) {
  std::vector<double> values(static_cast<std::size_t>(rank) + 1);
  std::iota(values.begin(), values.end(), 1.0 + rank * (rank + 1) / 2);
  return values;
}

}  // namespace

int main() {
  try {
    bp::Communicator world = bp::Communicator::create();
    const std::vector<double> values = measure(world.rank());
    std::array<double, 2> totals = {std::accumulate(values.begin(), values.end(), 0.0),
                                    static_cast<double>(values.size())};
    bp::all_reduce(world, bp::view(totals), {.op = bp::ReduceOp::sum, .name = "totals"});
    if (world.rank() == 0) {
      std::printf("mean of %.0f measurements on %d ranks: %.2f\n", totals[1], world.size(),
                  totals[0] / totals[1]);
    }
    world.finish();
  } catch (const bp::Error& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
    return 1;
  }
}
