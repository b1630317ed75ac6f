#include "trainer/data/kept_row_reader.h"

namespace bp::trainer {

bool KeptRowReader::read(RowBlock& block) {
  block.clear();
  while (!block.full() && next()) {
    block.add({source_, rows_->number(), place_}, rows_->text(), rows_->fields());
  }
  return block.rows() > 0;
}

bool KeptRowReader::next() {
  for (; source_ < plan_.sources.size(); ++source_) {
    if (!rows_) rows_.emplace(plan_, plan_.sources[source_]);
    while (rows_->next()) {
      place_ = kept_.place(source_, rows_->number());
      if (place_ == 0) continue;
      if (skipped_ == 0) return true;
      --skipped_;
    }
    rows_.reset();
  }
  return false;
}

}  // namespace bp::trainer
