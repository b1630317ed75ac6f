// A table as data, and how it is written for a terminal, for a page and as CSV. The writers escape
// all texts, which may hold anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bp {

struct Cell {
  enum class Look : std::uint8_t {
    plain,
    right,  // in a matrix of colours
    wrong,
    sum,
    bar,  // in place of the text
  };

  std::string text = {};
  // On a page only:
  std::string note = {};           // smaller, behind the text
  std::optional<double> key = {};  // by which the rows are sorted; none: by the text
  Look look = Look::plain;
  double share = 0;  // from 0 to 1: how strong the colour of right and wrong is, how long a bar is
  std::optional<std::size_t> run = {};  // a piece of this run's curve stands before the text
};

struct Table {
  struct Column {
    std::string name = {};
    bool left = false;      // aligned to the left, as texts are; the first column always is
    std::size_t width = 0;  // at least; on a terminal
  };
  struct Row {
    enum class Kind : std::uint8_t {
      body,
      heading,  // one cell over all columns
      foot,     // sums and means
    };
    std::vector<Cell> cells = {};  // the missing ones at the end are empty
    Kind kind = Kind::body;
  };
  enum class Look : std::uint8_t {
    plain,
    matrix,    // of colours
    sortable,  // by each column
    dense_matrix,
  };

  std::vector<Column> columns = {};  // without any name: a table without a head
  std::vector<Row> rows = {};
  Look look = Look::plain;

  void add(std::vector<std::string> texts, Row::Kind kind = Row::Kind::body);
};

// Returns a table with columns of these names, and no rows.
[[nodiscard]] Table table_of(const std::vector<std::string>& names);

struct TextLayout {
  int columns = 0;      // of the terminal; 0: any width
  std::size_t gap = 2;  // blanks between two columns
  bool right = false;   // also the first column is aligned to the right
  bool ragged = false;  // a text that is wider than Column::width widens no other line
  // As scikit-learn prints its reports: aligned to the right in columns of just their widths, with
  // an empty line below the head, and one above the foot.
  bool scikit = false;
};

// Each row becomes a line. A table that is wider than the terminal gets a head of two lines. If it
// is still too wide, its last columns follow in further tables, each with the first column.
[[nodiscard]] std::string terminal_text(const Table& table, const TextLayout& layout = {});
[[nodiscard]] std::vector<std::string> terminal_lines(const Table& table);

[[nodiscard]] std::string table_html(const Table& table);

// The head and each row as a line, quoted as RFC 4180 says.
[[nodiscard]] std::string csv_text(const Table& table);
// Returns `text` as one field of a CSV line.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace bp
