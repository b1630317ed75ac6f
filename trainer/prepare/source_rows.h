// The rows of a source's files, as far as the plan's options request them.
//
//   for (SourceRows rows(plan, source); rows.next();) use(rows.text(), rows.fields());
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trainer/input/row_reader.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/task_data.h"

namespace bp::trainer {

class SourceRows {
 public:
  // Opens the source. Throws what its reader throws. `plan` and `source` must outlive it.
  SourceRows(const Plan& plan, const SourceFiles& source);

  // Moves to the next row and returns true, or false at the end or after the plan's limit. Throws
  // what RowReader::next() throws, and Interrupted if this process is asked to stop.
  bool next();

  // Of the current row, valid until next().
  [[nodiscard]] std::int64_t number() const { return rows_.number(); }  // from 1
  [[nodiscard]] Fields fields() const { return rows_.fields(); }
  [[nodiscard]] std::string_view text() const { return text_; }      // see TaskData::text()
  [[nodiscard]] std::string place() const { return rows_.place(); }  // "a.csv, row 2 (line 3)"
  // Returns how its file is read.
  [[nodiscard]] const std::optional<TableLayout>& layout() const {
    return source_.files[rows_.file()].layout;
  }

 private:
  const Plan& plan_;
  const SourceFiles& source_;
  RowSequence rows_;
  std::string buffer_;
  std::string_view text_;
};

// Returns where row `number` of a source is, for a message about it. Reads the files up to the row
// if they are several.
[[nodiscard]] std::string place_of(const Plan& plan,
                                   const SourceFiles& source,
                                   std::int64_t number);

}  // namespace bp::trainer
