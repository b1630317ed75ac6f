// LibTorch's threads for the optimizers' loops.
#pragma once

#include <cstdint>
#include <functional>

namespace bp::trainer {

// Elements that are worth a thread.
inline constexpr std::int64_t kGrain = 32768;

// Runs body(begin, end) over parts of 0..count-1, on as many threads as LibTorch uses. A part has
// at least `grain` elements, if there are so many. The parts depend on the number of threads.
void in_parallel(std::int64_t count,
                 std::int64_t grain,
                 const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace bp::trainer
