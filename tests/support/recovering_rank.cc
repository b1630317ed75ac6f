#include "tests/support/recovering_rank.h"

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "bp/collective.h"
#include "bp/communicator.h"
#include "bp/error.h"

namespace bp::test {
namespace {

// A world recovers once.
bool is_refused_again(Communicator& world) {
  try {
    (void)world.recover();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.code() == ErrorCode::invalid_argument;
  }
  std::fprintf(stderr, "a world recovered twice\n");
  return false;
}

}  // namespace

int recover(const std::string& victims) {
  const int rank = std::atoi(std::getenv("RANK"));
  Communicator world = Communicator::create();
  for (std::size_t lost = 0;; ++lost) {
    try {
      for (int step = 0; step < 100; ++step) {
        if (step == 50 && lost < victims.size() && rank == victims[lost] - '0') {
          ::raise(SIGKILL);
        }
        std::vector<std::int64_t> data(1000, rank + step);
        all_reduce(world, view(data), {.name = "grads"});
        std::int64_t sum = 0;  // of the values of the surviving ranks
        for (int other = 0; other < std::atoi(std::getenv("WORLD_SIZE")); ++other) {
          const auto at = victims.find(static_cast<char>('0' + other));
          sum += at == std::string::npos || at >= lost ? other + step : 0;
        }
        if (data != std::vector<std::int64_t>(1000, sum)) {
          std::fprintf(stderr, "step %d: a wrong sum\n", step);
          return 3;
        }
      }
      std::printf("a world of %d ends, I am its rank %d\n", world.size(), world.rank());
      world.finish();
      return 0;
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      Communicator rest = world.recover();
      if (!is_refused_again(world)) return 4;
      world = std::move(rest);
    }
  }
}

}  // namespace bp::test
