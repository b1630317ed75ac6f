// What a table file looks like: its format, whether it has a header, where the two columns are.
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

// Looks at the suffix, then at the first rows. The separator is found by find_separator() where the
// question does not name it and the format is CSV. A header is taken to be there when a column is
// asked for by name; when both are numbers, it is found by looking (see looks_like_header).
// Throws InputError: 66 cannot be read, 65 empty, bad content or another kind of file, 2 no such
// column (naming those there are and the nearest), two columns of the name, or no telling which
// separator.
[[nodiscard]] TableLayout inspect_table(const TableQuestion& question);

// Whether the first of these rows names the columns: no empty cell, number, or doubled name in it,
// no cell as long as a text, and its label is not met again below.
[[nodiscard]] bool looks_like_header(const std::vector<TableRow>& rows, std::size_t label);

}  // namespace bp::trainer
