// The identity of a store: equal on two hosts exactly if they hold the same texts and samples, in
// the same order, for the same task with the same names and vocabulary.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trainer/data/hash.h"
#include "trainer/data/store_format.h"

namespace bp::trainer {

class ContentHash {
 public:
  void add_settings(const StoreSettings& settings);
  // Add texts or samples of a split, as a StoreBlock holds them. Within a split, texts must be
  // added in order, and so must samples. Calls for different tables may run at the same time.
  void add_texts(Split split, std::string_view rows);
  void add_samples(Split split, std::string_view rows);
  // Returns the hash of everything added so far. More may be added afterwards.
  [[nodiscard]] std::string hex() const;

 private:
  Hash settings_;
  std::array<Hash, 3> texts_;  // indexed by split
  std::array<Hash, 3> samples_;
};

}  // namespace bp::trainer
