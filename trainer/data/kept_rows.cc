#include "trainer/data/kept_rows.h"

#include <utility>

namespace bp::trainer {

KeptRows::KeptRows(std::vector<std::int64_t> rows, RowSet dropped)
    : counts_(std::move(rows)), dropped_(std::move(dropped)) {
  dropped_.index();
  std::int64_t begin = 0;
  for (std::int64_t& count : counts_) {
    const std::int64_t end = begin + count;
    first_rows_.push_back(begin);
    count -= dropped_.count_below(end) - dropped_.count_below(begin);
    begin = end;
  }
}

std::int64_t KeptRows::place(std::size_t source, std::int64_t row) const {
  if (dropped_.size() == 0) return row;
  const std::int64_t begin = first_rows_[source];
  const std::int64_t at = begin + row - 1;
  if (dropped_.contains(at)) return 0;
  return row - (dropped_.count_below(at) - dropped_.count_below(begin));
}

}  // namespace bp::trainer
