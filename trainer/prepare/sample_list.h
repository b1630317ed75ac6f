// Samples of rows in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/store/sample_schema.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {

class SampleList {
 public:
  // Names the row whose samples come next.
  void begin_row(std::int64_t number) { row_ = number; }
  void add(std::span<const std::int32_t> token_ids, std::span<const ArrayView> arrays);

  // Removes the samples of that row, if it was the last one.
  void drop_row(std::int64_t number) {
    while (!samples_.empty() && samples_.back().text_id == number) {
      samples_.pop_back();
      --last_id_;
    }
  }
  // Returns the number of a sample that is not in the list.
  [[nodiscard]] std::int64_t skip() { return ++last_id_; }

  // The samples that were not removed, numbered from 1 over all of them.
  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }
  void clear() { samples_.clear(); }
  // Removes the first `count` samples.
  void drop(std::size_t count) {
    samples_.erase(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(count));
  }

 private:
  std::int64_t row_ = 0;
  std::int64_t last_id_ = 0;
  std::vector<Sample> samples_;
};

}  // namespace bp::trainer
