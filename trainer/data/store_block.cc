#include "trainer/data/store_block.h"

namespace bp::trainer {
void StoreBlock::add_text(Split split, std::int64_t text_id, std::string_view text) {
  std::string& rows = texts_[static_cast<std::size_t>(split)];
  put_number(rows, text_id);
  put_bytes(rows, text);
  size_.add(text);
}

void StoreBlock::add_sample(Split split,
                            std::int64_t text_id,
                            int label,
                            std::span<const std::int32_t> token_ids) {
  std::string& rows = sample_rows_[static_cast<std::size_t>(split)];
  put_number(rows, samples_++);
  put_number(rows, text_id);
  put_number(rows, label);
  put_bytes(rows, {reinterpret_cast<const char*>(token_ids.data()), token_ids.size_bytes()});
}

void StoreBlock::clear() {
  size_ = {};
  samples_ = 0;
  for (std::string& rows : texts_) empty_for_reuse(rows);
  for (std::string& rows : sample_rows_) empty_for_reuse(rows);
}

void StoreBlock::number_samples(std::int64_t first) {
  for (std::string& rows : sample_rows_) {
    std::string_view rest = rows;
    while (!rest.empty()) {
      char* const place = rows.data() + (rows.size() - rest.size());
      const std::int64_t number = first + take_number(rest);
      std::memcpy(place, &number, sizeof(number));
      (void)take_number(rest);
      (void)take_number(rest);
      (void)take_bytes(rest);
    }
  }
}

}  // namespace bp::trainer
