#include "trainer/store/store_block.h"

#include <variant>

namespace bp::trainer {
namespace {

template <class Number>
void put_values(std::string& rows, std::span<const Number> values) {
  put_bytes(rows, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

}  // namespace

void StoreBlock::add_text(Split split, std::int64_t text_id, std::string_view text) {
  std::string& rows = texts_[static_cast<std::size_t>(split)];
  put_number(rows, text_id);
  put_bytes(rows, text);
  size_.add(text);
}

void StoreBlock::add_sample(Split split,
                            std::int64_t text_id,
                            std::span<const std::int32_t> token_ids,
                            std::span<const ArrayView> arrays) {
  const auto which = static_cast<std::size_t>(split);
  std::string& rows = sample_rows_[which];
  sample_starts_[which].push_back(rows.size());
  put_number(rows, samples_++);
  put_number(rows, text_id);
  for (const ArrayView& array : arrays) {
    if (const auto* integer = std::get_if<std::int64_t>(&array)) put_number(rows, *integer);
    if (const auto* real = std::get_if<double>(&array)) put_number(rows, *real);
  }
  put_values(rows, token_ids);
  for (const ArrayView& array : arrays) {
    using Integers = std::span<const std::int32_t>;
    using Reals = std::span<const double>;
    if (const auto* integers = std::get_if<Integers>(&array)) put_values(rows, *integers);
    if (const auto* reals = std::get_if<Reals>(&array)) put_values(rows, *reals);
  }
}

void StoreBlock::clear() {
  size_ = {};
  samples_ = 0;
  for (std::string& rows : texts_) empty_for_reuse(rows);
  for (std::string& rows : sample_rows_) empty_for_reuse(rows);
  for (std::vector<std::size_t>& starts : sample_starts_) starts.clear();
}

void StoreBlock::number_samples(std::int64_t first) {
  for (std::size_t split = 0; split < sample_rows_.size(); ++split) {
    for (const std::size_t start : sample_starts_[split]) {
      char* const place = sample_rows_[split].data() + start;
      std::int64_t number = 0;
      std::memcpy(&number, place, sizeof(number));
      number += first;
      std::memcpy(place, &number, sizeof(number));
    }
  }
}

}  // namespace bp::trainer
