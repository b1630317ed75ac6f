#include "trainer/data/task_data.h"

#include "base/check.h"
#include "trainer/data/row_reader.h"
#include "trainer/data/store_block.h"

namespace bp::trainer {

void SampleSink::add(std::span<const std::int32_t> token_ids,
                     std::span<const ArrayView> arrays) const {
  block_.add_sample(split_, text_id_, token_ids, arrays);
}

std::unique_ptr<RowReader> TaskData::open(const std::string& /*path*/,
                                          const PrepareOptions& /*options*/) const {
  BP_CHECK(false, "a task without a format of its own");
}

}  // namespace bp::trainer
