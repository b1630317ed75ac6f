#include "trainer/data/kept_rows.h"

#include <algorithm>
#include <utility>

namespace bp::trainer {

KeptRows::KeptRows(std::vector<std::int64_t> rows, std::vector<std::int64_t> dropped)
    : counts_(std::move(rows)), dropped_(std::move(dropped)) {
  std::int64_t begin = 0;
  for (std::int64_t& count : counts_) {
    const std::int64_t end = begin + count;
    first_rows_.push_back(begin);
    count -= std::lower_bound(dropped_.begin(), dropped_.end(), end) -
             std::lower_bound(dropped_.begin(), dropped_.end(), begin);
    begin = end;
  }
}

std::int64_t KeptRows::place(std::size_t source, std::int64_t row) const {
  const std::int64_t begin = first_rows_[source];
  const auto here = std::lower_bound(dropped_.begin(), dropped_.end(), begin + row - 1);
  if (here != dropped_.end() && *here == begin + row - 1) {
    return 0;
  }
  return row - (here - std::lower_bound(dropped_.begin(), here, begin));
}

}  // namespace bp::trainer
