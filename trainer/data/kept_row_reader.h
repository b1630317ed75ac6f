// Reads the kept rows of all sources in order, block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "trainer/data/kept_rows.h"
#include "trainer/data/plan.h"
#include "trainer/data/row_block.h"
#include "trainer/data/source_rows.h"

namespace bp::trainer {

class KeptRowReader {
 public:
  // Leaves out the first `skipped` kept rows. `plan` and `kept` must outlive the reader.
  KeptRowReader(const Plan& plan, const KeptRows& kept, std::int64_t skipped)
      : plan_(plan), kept_(kept), skipped_(skipped) {}

  // Fills the block with the next rows until it is full. Returns false if no row is left. Throws
  // what SourceRows throws.
  bool read(RowBlock& block);

 private:
  // Moves to the next kept row; returns false at the end of the last source.
  bool next();

  const Plan& plan_;
  const KeptRows& kept_;
  std::int64_t skipped_;
  std::optional<SourceRows> rows_;
  std::size_t source_ = 0;  // of rows_
  std::int64_t place_ = 0;  // of the current row among the kept rows of its source
};

}  // namespace bp::trainer
