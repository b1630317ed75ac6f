// The layout of a table file: its format, whether it has a header, and its two columns.
#pragma once

#include <string>
#include <vector>

#include "trainer/data/first_rows.h"
#include "trainer/data/prepare.h"
#include "trainer/data/separator.h"
#include "trainer/data/table_reader.h"

namespace bp::trainer {

struct TableQuestion {
  std::string path;
  TextFormat format = TextFormat::automatic;
  HeaderMode header = HeaderMode::automatic;
  std::string text_column;  // by name, or by number from 1
  std::string label_column;
  char separator = kFindSeparator;  // between fields
};

struct TableLayout {
  TextFormat format = TextFormat::csv;  // never automatic
  char separator = ',';
  bool header = false;
  std::size_t text = 0;  // columns from 0
  std::size_t label = 0;

  [[nodiscard]] Dialect dialect() const;
};

// Finds the layout from the suffix and the first rows. find_separator() finds the separator if the
// question does not name it and the format is CSV. A column that is requested by name implies a
// header; if both are numbers, looks_like_header() decides. Throws InputError: 66 if the file
// cannot be read; 65 if it is empty, has bad content or is another kind of file; 2 if a column does
// not exist (naming the existing ones or the nearest), if two columns have its name, or if the
// separator is ambiguous.
[[nodiscard]] TableLayout inspect_table(const TableQuestion& question);

// Returns whether the first of these rows names the columns: it has no empty cell, number,
// duplicate or cell as long as a text, and its label does not occur again below.
[[nodiscard]] bool looks_like_header(const std::vector<TableRow>& rows, std::size_t label);

}  // namespace bp::trainer
