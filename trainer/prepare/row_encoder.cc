#include "trainer/prepare/row_encoder.h"

#include <span>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/prepare/source_rows.h"

namespace bp::trainer {

void RowBlock::add(const KeptRow& row, std::string_view text, Fields fields) {
  rows_.push_back({row, bytes_.size(), sizes_.size()});
  for (const std::string_view field : fields) {
    sizes_.push_back(field.size());
    bytes_.append(field);
  }
  size_.add(text);
}

void RowBlock::clear() {
  size_ = {};
  rows_.clear();
  sizes_.clear();
  empty_for_reuse(bytes_);
}

Fields RowBlock::fields(std::size_t index) {
  const Row& row = rows_[index];
  const std::size_t last = index + 1 < rows_.size() ? rows_[index + 1].first_field : sizes_.size();
  shown_.clear();
  std::string_view rest = std::string_view(bytes_).substr(row.first_byte);
  for (std::size_t i = row.first_field; i < last; ++i) {
    shown_.push_back(rest.substr(0, sizes_[i]));
    rest.remove_prefix(sizes_[i]);
  }
  return shown_;
}

void encode(const Plan& plan,
            const ChosenRows& chosen,
            SampleMaker& maker,
            RowBlock& rows,
            StoreBlock& block) {
  block.clear();
  std::string buffer;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const KeptRow row = rows[i];
    const Fields fields = rows.fields(i);
    const Split split = chosen.split_of(row.source, row.place);
    block.add_text(split, row.number, plan.options.task->text(fields, buffer));
    try {
      maker.make(fields, [&](std::span<const std::int32_t> ids, std::span<const ArrayView> arrays) {
        block.add_sample(split, row.number, ids, arrays);
      });
    } catch (const InputError& error) {
      throw InputError(
          error.exit_code(),
          concat(place_of(plan, plan.sources[row.source], row.number), ": ", error.what()),
          error.hint());
    }
  }
}

}  // namespace bp::trainer
