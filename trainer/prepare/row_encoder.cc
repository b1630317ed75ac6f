#include "trainer/prepare/row_encoder.h"

#include <span>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/prepare/source_rows.h"

namespace bp::trainer {
namespace {

class BlockSink : public SampleSink {
 public:
  BlockSink(StoreBlock& block, Split split, std::int64_t text_id)
      : block_(block), split_(split), text_id_(text_id) {}
  void add(std::span<const std::int32_t> token_ids, std::span<const ArrayView> arrays) override {
    block_.add_sample(split_, text_id_, token_ids, arrays);
  }

 private:
  StoreBlock& block_;
  Split split_;
  std::int64_t text_id_;
};

}  // namespace

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

RowEncoder::RowEncoder(const Plan& plan, std::unique_ptr<SampleMaker> maker, SplitOf split_of)
    : plan_(plan), maker_(std::move(maker)), split_of_(std::move(split_of)) {}

void RowEncoder::encode(RowBlock& rows, StoreBlock& block) {
  block.clear();
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const KeptRow row = rows[i];
    const Fields fields = rows.fields(i);
    const Split split = split_of_(row.source, row.place);
    block.add_text(split, row.number, plan_.options.task->text(fields, buffer_));
    BlockSink sink(block, split, row.number);
    try {
      maker_->make(fields, sink);
    } catch (const InputError& error) {
      throw InputError(
          error.exit_code(),
          concat(place_of(plan_, plan_.sources[row.source], row.number), ": ", error.what()),
          error.hint());
    }
  }
}

}  // namespace bp::trainer
