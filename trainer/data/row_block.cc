#include "trainer/data/row_block.h"

namespace bp::trainer {

void RowBlock::add(const KeptRow& row) {
  rows_.push_back({{row.source, row.number, row.place, {}, {}},
                   bytes_.size(),
                   row.text.size(),
                   row.label.size()});
  bytes_.append(row.text).append(row.label);
  size_.add(row.text);
}

void RowBlock::clear() {
  size_ = {};
  rows_.clear();
  empty_for_reuse(bytes_);
}

KeptRow RowBlock::operator[](std::size_t index) const {
  const Row& at = rows_[index];
  const std::string_view both(bytes_.data() + at.begin, at.text_size + at.label_size);
  KeptRow row = at.row;
  row.text = both.substr(0, at.text_size);
  row.label = both.substr(at.text_size);
  return row;
}

}  // namespace bp::trainer
