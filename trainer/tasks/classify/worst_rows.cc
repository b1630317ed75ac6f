#include "trainer/tasks/classify/worst_rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace bp::trainer {

void WorstRows::add(WorstRow row) {
  const auto worse = [](const WorstRow& a, const WorstRow& b) {
    return std::tie(a.probability, a.sample_id) < std::tie(b.probability, b.sample_id);
  };
  rows_.insert(std::upper_bound(rows_.begin(), rows_.end(), row, worse), std::move(row));
  if (rows_.size() > limit_) {
    rows_.pop_back();
  }
}

}  // namespace bp::trainer
