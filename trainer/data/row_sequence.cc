#include "trainer/data/row_sequence.h"

#include <utility>

namespace bp::trainer {

// The first file is opened at once, so that an error about it comes early.
RowSequence::RowSequence(std::vector<Open> files, std::int64_t limit)
    : files_(std::move(files)), limit_(limit), rows_(files_.front()()) {}

bool RowSequence::next() {
  for (;;) {
    const bool over = limit_ > 0 && rows_->number() >= limit_;
    if (!over && rows_->next()) return true;
    if (file_ + 1 == files_.size()) return false;
    before_ += rows_->number();
    rows_ = files_[++file_]();
  }
}

}  // namespace bp::trainer
