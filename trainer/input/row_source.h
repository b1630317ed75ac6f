// The rows of a table or of JSON lines.
//
//   RowSource rows = open_source("reviews.csv", inspect_table(question));
//   while (rows.next()) use(rows.fields());
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trainer/input/json_lines_reader.h"
#include "trainer/input/row_reader.h"
#include "trainer/input/table.h"
#include "trainer/input/table_reader.h"

namespace bp::trainer {

class RowSource : public RowReader {
 public:
  // See open_source().
  RowSource(const std::string& path, const TableLayout& layout);

  bool next() override;
  [[nodiscard]] Fields fields() const override { return fields_; }
  [[nodiscard]] std::int64_t number() const override;
  [[nodiscard]] std::string place() const override;

 private:
  [[nodiscard]] bool next_row(TableReader& reader);
  [[nodiscard]] bool next_row(JsonLinesReader& reader);

  TableLayout layout_;
  std::variant<TableReader, JsonLinesReader> reader_;
  std::vector<std::string_view> fields_;
};

// Opens the file `path`, whose layout inspect_table() returned. Throws InputError as the
// constructor of its reader does.
[[nodiscard]] RowSource open_source(const std::string& path, const TableLayout& layout);

}  // namespace bp::trainer
