#include "trainer/data/row_encoder.h"

#include <utility>

namespace bp::trainer {

RowEncoder::RowEncoder(const TaskData& task, std::unique_ptr<SampleMaker> maker, SplitOf split_of)
    : task_(task), maker_(std::move(maker)), split_of_(std::move(split_of)) {}

void RowEncoder::encode(RowBlock& rows, StoreBlock& block) {
  block.clear();
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const KeptRow row = rows[i];
    const Fields fields = rows.fields(i);
    const Split split = split_of_(row.source, row.place);
    block.add_text(split, row.number, task_.text(fields, buffer_));
    maker_->make(fields, SampleSink(block, split, row.number));
  }
}

}  // namespace bp::trainer
