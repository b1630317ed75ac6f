// What a data file looks like: its format, whether it has a header, and which columns or keys hold
// text and label.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/data/first_rows.h"
#include "trainer/data/json_lines_reader.h"
#include "trainer/data/separator.h"
#include "trainer/data/table_format.h"

namespace bp::trainer {

enum class HeaderMode : std::uint8_t { automatic, yes, no };

struct TableQuestion {
  std::string path;
  TextFormat format = TextFormat::automatic;
  HeaderMode header = HeaderMode::automatic;
  std::string text_column;  // by name, or by number from 1; in JSON lines a key
  std::string label_column;
  char separator = kFindSeparator;  // between fields
  std::string encoding = {};        // see parse_encoding()
  bool needs_label = true;          // false: the key of the label may be absent in JSON lines
};

struct TableLayout {
  TableFormat format = {};
  bool header = false;
  std::size_t text = 0;  // columns from 0, of a table
  std::size_t label = 0;
  JsonKeys keys = {};  // of JSON lines
  std::string encoding = {};

  // Returns "column 2" or "key 'label'".
  [[nodiscard]] std::string text_name() const;
  [[nodiscard]] std::string label_name() const;
};

// Finds the format by find_table_format(), then the header and the columns by the first rows. If a
// column is asked for by name, the first row is a header. If both are numbers, looks_like_header()
// decides. In JSON lines, one of the first 1000 rows must have the key. Throws InputError: 66 if
// the file cannot be read; 65 if it is empty, broken or another kind of file; 2 if a column or key
// does not exist (with the existing ones and the nearest), if two columns have its name, or if
// several separators fit.
[[nodiscard]] TableLayout inspect_table(const TableQuestion& question);

// Returns whether the first of these rows names the columns: it has no empty cell, no number, no
// name twice and no cell as long as a text, and its label does not occur in the rows below.
[[nodiscard]] bool looks_like_header(const std::vector<TableRow>& rows, std::size_t label);

}  // namespace bp::trainer
