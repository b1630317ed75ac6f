// Encodes rows of a source as texts and samples of a store.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trainer/data/plan.h"
#include "trainer/data/row_block.h"
#include "trainer/data/store_block.h"
#include "trainer/data/store_format.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

// Each thread needs its own, because encoding fills the tokenizer's cache.
class RowEncoder {
 public:
  using SplitOf = std::function<Split(std::size_t source, std::int64_t place)>;

  // `settings` must outlive it. Several threads may call `split_of` at once.
  RowEncoder(const PrepareOptions& options,
             const StoreSettings& settings,
             SplitOf split_of,
             Tokenizer tokenizer);

  // Replaces the content of `block` by the rows' texts and samples.
  void encode(const RowBlock& rows, StoreBlock& block);

 private:
  void encode_row(const KeptRow& row, StoreBlock& block);
  [[nodiscard]] int number_of_label(std::string_view label) const;

  std::size_t window_;  // most tokens of a sample without [CLS] and [SEP]
  bool truncates_;
  SplitOf split_of_;
  std::unordered_map<std::string_view, int> labels_;
  Tokenizer tokenizer_;
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> sample_;
};

}  // namespace bp::trainer
