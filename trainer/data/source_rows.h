// The rows of a source in the form that the plan's options request.
//
//   for (SourceRows rows(plan, source); rows.next();) use(rows.row());
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trainer/data/plan.h"
#include "trainer/data/row_source.h"

namespace bp::trainer {

struct SourceRow {
  std::int64_t number = 0;  // from 1
  std::string_view text;
  std::string_view label;
};

class SourceRows {
 public:
  // Throws what open_source() throws. `plan` and `source` must outlive it.
  SourceRows(const Plan& plan, const SourceFile& source);

  // Moves to the next row and returns true, or false at the end or after the plan's limit. Throws
  // what RowSource::next() throws, InputError 65 for a label that must be rounded and is not a
  // number, and Interrupted if this process is asked to stop.
  bool next();

  // Valid until next().
  [[nodiscard]] const SourceRow& row() const { return row_; }
  [[nodiscard]] std::string place() const { return rows_.place(); }  // "a.csv, row 2 (line 3)"

 private:
  const Plan& plan_;
  const SourceFile& source_;
  RowSource rows_;
  std::string label_;
  SourceRow row_;
};

}  // namespace bp::trainer
