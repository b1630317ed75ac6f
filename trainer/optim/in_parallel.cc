#include "trainer/optim/in_parallel.h"

#include <ATen/Parallel.h>

namespace bp::trainer {

void in_parallel(std::int64_t count,
                 std::int64_t grain,
                 const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
  at::parallel_for(0, count, grain, body);
}

}  // namespace bp::trainer
