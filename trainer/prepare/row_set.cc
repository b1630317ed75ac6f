#include "trainer/prepare/row_set.h"

#include <algorithm>
#include <utility>

namespace bp::trainer {
namespace {

constexpr std::size_t kBits = 64;
constexpr std::size_t kWordsBetweenCounts = 8;

}  // namespace

void RowSet::insert(std::int64_t row) {
  const auto at = static_cast<std::size_t>(row);
  if (at / kBits >= words_.size()) words_.resize(at / kBits + 1);
  words_[at / kBits] |= std::uint64_t{1} << at % kBits;
  ++size_;
}

void RowSet::insert(const RowSet& rows) {
  words_.resize(std::max(words_.size(), rows.words_.size()));
  for (std::size_t word = 0; word < rows.words_.size(); ++word) {
    size_ += std::popcount(rows.words_[word] & ~words_[word]);
    words_[word] |= rows.words_[word];
  }
}

bool RowSet::contains(std::int64_t row) const {
  const auto at = static_cast<std::size_t>(row);
  return at / kBits < words_.size() && (words_[at / kBits] >> at % kBits & 1U) != 0;
}

void RowSet::index() {
  before_.clear();
  std::int64_t count = 0;
  for (std::size_t word = 0; word < words_.size(); ++word) {
    if (word % kWordsBetweenCounts == 0) before_.push_back(count);
    count += std::popcount(words_[word]);
  }
}

std::int64_t RowSet::count_below(std::int64_t row) const {
  const auto at = static_cast<std::size_t>(row);
  if (at / kBits >= words_.size()) return size_;
  const std::size_t last = at / kBits;
  std::int64_t count = before_[last / kWordsBetweenCounts];
  for (std::size_t word = last - last % kWordsBetweenCounts; word < last; ++word) {
    count += std::popcount(words_[word]);
  }
  const std::uint64_t below = (std::uint64_t{1} << at % kBits) - 1;
  return count + std::popcount(words_[last] & below);
}

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
