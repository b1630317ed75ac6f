#include "trainer/train/watch/memory_advice.h"

#include <algorithm>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/common/text_list.h"

namespace bp::trainer {
namespace {

// Returns options with which the same samples are computed in pieces of half the size.
std::string half_the_size(const TrainOptions& options) {
  const std::string accumulate =
      list_of(options.accumulate.values(), ",", [](int count) { return 2 * count; });
  const std::string size = options.max_tokens > 0
                               ? concat("--max-tokens ", options.max_tokens / 2)
                               : concat("--batch ", std::max(options.batch / 2, 1));
  return concat(size, " --accumulate ", accumulate);
}

}  // namespace

void throw_out_of_memory(const StepBatches& batches, const TrainOptions& options) {
  int rows = 0;
  int length = 0;
  for (const Batch& batch : batches.micro_batches) {
    rows = std::max(rows, batch.rows);
    length = std::max(length, batch.length);
  }
  const bool by_tokens = options.max_tokens > 0;
  // Other passes have been computed in pieces.
  const bool is_whole = options.shard == Shard::parameters;
  const bool divisible = is_whole && (by_tokens ? rows > 1 : options.batch > 1);
  throw InputError(70,
                   concat("out of memory at step ", batches.step + 1, ", in a batch of ", rows,
                          " samples of up to ", length, " tokens"),
                   divisible ? concat("try ", half_the_size(options), by_tokens ? " (about " : " (",
                                      "the same training in smaller pieces), or fewer ranks on "
                                      "this host")
                             : concat("try --max-length ", std::max(length / 2, 3),
                                      ", a smaller --model, or fewer ranks on this host"));
}

}  // namespace bp::trainer
