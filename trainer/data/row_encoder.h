// Encodes rows of a source as texts and samples of a store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "trainer/data/plan.h"
#include "trainer/data/row_block.h"
#include "trainer/data/store_block.h"
#include "trainer/data/task_data.h"

namespace bp::trainer {

// Each thread needs its own.
class RowEncoder {
 public:
  using SplitOf = std::function<Split(std::size_t source, std::int64_t place)>;

  // `plan` must outlive it. Several threads may call `split_of` at once.
  RowEncoder(const Plan& plan, std::unique_ptr<SampleMaker> maker, SplitOf split_of);

  // Replaces the content of `block` by the rows' texts and samples. Throws InputError, naming the
  // row, if the task refuses it.
  void encode(RowBlock& rows, StoreBlock& block);

 private:
  const Plan& plan_;
  std::unique_ptr<SampleMaker> maker_;
  SplitOf split_of_;
  std::string buffer_;
};

}  // namespace bp::trainer
