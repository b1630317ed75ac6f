// Describes a data file: its format, whether it has a header, and which columns or keys hold the
// fields that a task reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/input/row_reader.h"
#include "trainer/input/separator.h"
#include "trainer/input/table_format.h"

namespace bp::trainer {

enum class HeaderMode : std::uint8_t { automatic, yes, no };

// Whether a file must have the fields that hold the true answers.
enum class Answers : std::uint8_t {
  needed,
  in_some_rows,  // the columns that options name must exist; JSON lines may lack the keys
  optional,      // the columns need not exist
};

struct TableQuestion {
  std::string path;
  TextFormat format = TextFormat::automatic;
  HeaderMode header = HeaderMode::automatic;
  std::vector<Field> fields;
  char separator = kFindSeparator;  // between fields
  bool backslash = false;           // see Dialect
  std::string encoding = {};        // see parse_encoding()
  Answers answers = Answers::needed;
};

struct TableLayout {
  TableFormat format = {};
  bool header = false;
  std::vector<std::size_t> columns = {};  // of a table: of each field, from 0, or kNoColumn
  std::vector<std::string> keys = {};     // of JSON lines: of each field
  std::vector<JsonArrays> arrays = {};    // of JSON lines: those of each field
  std::string encoding = {};

  static constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);

  // Returns where a field is: "column 2", "no column" or "key 'label'".
  [[nodiscard]] std::string name_of(std::size_t field) const;
  // The same for the last field, which in most tasks is the answer.
  [[nodiscard]] std::string answer_name() const {
    return name_of(std::max(columns.size(), keys.size()) - 1);
  }
};

// Finds the format by find_table_format(), then the header and the columns by the first rows. If a
// column is asked for by name, the first row is a header. If all are numbers, looks_like_header()
// decides. In JSON lines, one of the first 1000 rows must have the key. Throws InputError: 66 if
// the file cannot be read; 65 if it is empty, broken or another kind of file; 2 if a column or key
// does not exist (with the existing ones and the nearest), if two columns have its name, or if
// several separators fit.
[[nodiscard]] TableLayout inspect_table(const TableQuestion& question);

// Returns whether the first of these rows names the columns: it has no empty cell, no number, no
// name twice and no cell as long as a text, and none of the columns `answers` has the same value in
// the rows below.
[[nodiscard]] bool looks_like_header(const std::vector<TableRow>& rows,
                                     const std::vector<std::size_t>& answers);

}  // namespace bp::trainer
