#include "trainer/input/row_reader.h"

#include <cstring>
#include <utility>

namespace bp::trainer {

std::string_view field_of(std::span<const std::int32_t> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

void read_numbers(std::string_view field, std::vector<std::int32_t>& numbers) {
  numbers.resize(field.size() / sizeof(std::int32_t));
  if (!numbers.empty())
    std::memcpy(numbers.data(), field.data(), numbers.size() * sizeof(numbers[0]));
}

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
