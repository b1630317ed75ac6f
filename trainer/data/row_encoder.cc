#include "trainer/data/row_encoder.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace bp::trainer {

RowEncoder::RowEncoder(const PrepareOptions& options,
                       const StoreSettings& settings,
                       SplitOf split_of,
                       Tokenizer tokenizer)
    : window_(static_cast<std::size_t>(options.max_length - 2)),
      truncates_(options.long_text == LongText::truncate),
      split_of_(std::move(split_of)),
      tokenizer_(std::move(tokenizer)) {
  int number = 0;
  for (const std::string& label : settings.labels) labels_.emplace(label, number++);
}

void RowEncoder::encode(const RowBlock& rows, StoreBlock& block) {
  block.clear();
  for (std::size_t i = 0; i < rows.rows(); ++i) encode_row(rows[i], block);
}

// Adds the windows of a text in order, each as [CLS] window [SEP]. An empty text becomes [CLS]
// [SEP].
void RowEncoder::encode_row(const KeptRow& row, StoreBlock& block) {
  const Split split = split_of_(row.source, row.place);
  const int label = number_of_label(row.label);
  block.add_text(split, row.number, row.text);
  ids_.clear();
  tokenizer_.encode(row.text, ids_);
  if (truncates_) {
    ids_.resize(std::min(ids_.size(), window_));
  }
  std::size_t begin = 0;
  do {
    const std::size_t end = std::min(begin + window_, ids_.size());
    sample_.assign(1, tokenizer_.cls_id());
    sample_.insert(sample_.end(), ids_.begin() + static_cast<std::ptrdiff_t>(begin),
                   ids_.begin() + static_cast<std::ptrdiff_t>(end));
    sample_.push_back(tokenizer_.sep_id());
    block.add_sample(split, row.number, label, sample_);
    begin = end;
  } while (begin < ids_.size());
}

// Returns -1 for a row without label.
int RowEncoder::number_of_label(std::string_view label) const {
  const auto found = labels_.find(label);
  return found == labels_.end() ? -1 : found->second;
}

}  // namespace bp::trainer
