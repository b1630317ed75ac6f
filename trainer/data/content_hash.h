// The identity of a store: equal on two hosts exactly when they hold the same texts and samples, in
// the same order, with the same labels and vocabulary.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "trainer/data/hash.h"
#include "trainer/data/store_format.h"

namespace bp::trainer {

class ContentHash {
 public:
  void add_settings(const StoreSettings& settings);
  // Texts, and apart from them samples, are added in order inside their split; splits may take
  // turns.
  void add_text(Split split, std::int64_t text_id, std::string_view text);
  struct SampleRow {
    std::int64_t sample_id = 0;
    std::int64_t text_id = 0;
    int label = -1;
    std::string_view tokens;  // their bytes
  };
  void add_sample(Split split, const SampleRow& sample);
  // Of what was added so far; more may follow.
  [[nodiscard]] std::string hex() const;

 private:
  Hash settings_;
  std::array<Hash, 3> texts_;  // by split
  std::array<Hash, 3> samples_;
};

}  // namespace bp::trainer
