#include "trainer/train/memory_advice.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "base/text.h"
#include "trainer/data/input_error.h"

namespace bp::trainer {

bool means_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  const std::string_view text = error.what();
  return text.find("can't allocate memory") != std::string_view::npos ||
         text.find("not enough memory") != std::string_view::npos ||
         text.find("out of memory") != std::string_view::npos;
}

void throw_out_of_memory(const StepBatches& batches, const Options& options) {
  int rows = 0;
  int length = 0;
  for (const Batch& batch : batches.micro_batches) {
    rows = std::max(rows, batch.rows);
    length = std::max(length, batch.length);
  }
  const int batch = std::max(options.batch / 2, 1);
  throw InputError(
      70,
      concat("out of memory at step ", batches.step + 1, ", in a batch of ", rows,
             " samples of up to ", length, " tokens"),
      options.batch > 1
          ? concat("try --batch ", batch, " --accumulate ", 2 * options.accumulate,
                   " (the same training in smaller pieces), or fewer ranks on this host")
          : concat("try --max-length ", std::max(length / 2, 3),
                   ", a smaller --model, or fewer ranks on this host"));
}

}  // namespace bp::trainer
