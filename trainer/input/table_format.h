// How the text of a file is divided into rows and fields. find_table_format() is the only function
// that decides whether a file is CSV, TSV or JSON lines, and what separates the fields of a table.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "trainer/input/separator.h"
#include "trainer/input/table_reader.h"

namespace bp::trainer {

enum class TextFormat : std::uint8_t { automatic, csv, tsv, jsonl };

// CSV has quotes. In TSV a quote is a character like others.
struct TableFormat {
  TextFormat text = TextFormat::csv;  // never automatic
  char separator = ',';               // of a table
  bool backslash = false;             // see Dialect
  bool operator==(const TableFormat&) const = default;

  // Returns how to read the file. `header`: the first record is not a row.
  [[nodiscard]] Dialect dialect(bool header) const;
  // Returns false if the format usually has another separator.
  [[nodiscard]] bool has_usual_separator() const;
  // Returns "csv", "tsv", "jsonl", "csv separated by semicolon" or "csv with backslashes". The
  // fingerprint of a store contains it.
  [[nodiscard]] std::string name() const;
};

struct FormatQuestion {
  std::string path;
  TextFormat format = TextFormat::automatic;  // what the user asked for
  char separator = kFindSeparator;            // what the user asked for
  bool backslash = false;                     // what the user asked for
  std::string encoding = {};                  // what the user asked for
  // Whether a column that must exist is asked for by its name: a first row that holds it is then a
  // header.
  bool by_name = false;
  // Whether the first row, read with one of the separators, holds the columns that are asked for.
  std::function<bool(const std::vector<std::string>&)> holds_columns = {};
};

// Decides in this order.
//   Format: what the user asked for; JSON lines if the file begins with an object; the suffix .csv,
//   .tsv, .tab, .jsonl or .ndjson (before .gz or .zst); CSV if the
//   user names another separator than a tab; TSV if the first row has a tab; else CSV. Separator:
//   what the user asked for; for TSV a tab; for CSV what a first line "sep=;" names, else the one
//   of kUsualSeparators with which the first row holds the columns and all rows have the same
//   number of fields. A comma wins against a tab and a bar.
//
// Throws InputError: what TableReader throws for a file that is not text (65) or cannot be read
// (66); 65 if it begins with an object and the user asked for CSV or TSV; 2 with the candidates if
// several separators fit.
[[nodiscard]] TableFormat find_table_format(const FormatQuestion& question);

// The beginning of a table.
using TableRow = std::vector<std::string>;

struct FirstRows {
  std::vector<TableRow> rows;
  std::exception_ptr error;  // of the broken row before which the rows end; null if none is broken
};
// Reads at most 1000 rows, and none after the first broken one. Throws what the constructor of
// TableReader throws.
[[nodiscard]] FirstRows read_first_rows(const std::string& path,
                                        const Dialect& dialect,
                                        const std::string& encoding);

}  // namespace bp::trainer
