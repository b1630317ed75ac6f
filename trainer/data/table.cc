#include "trainer/data/table.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "comm/base/nearest.h"
#include "comm/base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/numbers.h"

namespace bp::trainer {
namespace {

using Row = std::vector<std::string>;

std::optional<std::size_t> column_number(const std::string& column) {
  std::size_t number = 0;
  const char* end = column.data() + column.size();
  const auto [stop, error] = std::from_chars(column.data(), end, number);
  if (error != std::errc{} || stop != end || column.empty()) {
    return std::nullopt;
  }
  return number;
}

std::string lower_suffix(const std::string& path) {
  const std::size_t dot = path.find_last_of("./");
  if (dot == std::string::npos || path[dot] == '/') {
    return {};
  }
  std::string suffix = path.substr(dot);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return suffix;
}

Dialect dialect_of(TextFormat format) { return format == TextFormat::tsv ? kTsv : kCsv; }

TextFormat find_format(const TableQuestion& question) {
  if (question.format != TextFormat::automatic) {
    return question.format;
  }
  const std::string suffix = lower_suffix(question.path);
  if (suffix == ".csv") {
    return TextFormat::csv;
  }
  if (suffix == ".tsv" || suffix == ".tab") {
    return TextFormat::tsv;
  }
  TableReader reader(question.path, kTsv);
  return reader.next() && reader.fields().size() > 1 ? TextFormat::tsv : TextFormat::csv;
}

// The first rows, up to the first broken one: that is reported when the table is read for good,
// with its row counted as the header demands.
std::vector<Row> first_rows(const TableQuestion& question, TextFormat format) {
  constexpr std::size_t kEnough = 1000;
  TableReader reader(question.path, dialect_of(format));
  std::vector<Row> rows;
  try {
    while (rows.size() < kEnough && reader.next()) {
      rows.emplace_back(reader.fields().begin(), reader.fields().end());
    }
  } catch (const InputError&) {
    if (rows.empty()) {
      throw;
    }
  }
  return rows;
}

std::string shown_columns(const Row& names) {
  std::string text;
  for (const std::string& name : names) {
    constexpr std::size_t kLongest = 40;
    text += text.empty() ? "" : ", ";
    text += name.size() <= kLongest ? name : concat(name.substr(0, kLongest), "...");
  }
  return text;
}

std::size_t find_by_number(const TableQuestion& question, std::size_t number, std::size_t columns) {
  if (number < 1 || number > columns) {
    throw InputError(
        2, concat(question.path, " has no column ", number, ": it has ", columns),
        columns == 1 ? "is it in another format? see --format" : "columns are counted from 1");
  }
  return number - 1;
}

std::size_t find_by_name(const TableQuestion& question, const std::string& name, const Row& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) {
    return static_cast<std::size_t>(found - names.begin());
  }
  if (const auto number = column_number(name)) {
    return find_by_number(question, *number, names.size());
  }
  const std::string nearest = nearest_name(name, names);
  throw InputError(
      2, concat(question.path, " has no column '", name, "': it has ", shown_columns(names)),
      nearest.empty() ? "name the columns with --text and --label; where there is no header, by "
                        "number from 1"
                      : concat("did you mean '", nearest, "'?"));
}

std::size_t find_without_header(const TableQuestion& question,
                                const std::string& column,
                                std::size_t columns) {
  const auto number = column_number(column);
  if (!number) {
    throw InputError(2,
                     concat("column '", column, "' of ", question.path,
                            " is asked for by name without a header"),
                     "give its number, from 1, or --header yes");
  }
  return find_by_number(question, *number, columns);
}

bool decide_header(const TableQuestion& question, const std::vector<Row>& rows) {
  if (question.header != HeaderMode::automatic) {
    return question.header == HeaderMode::yes;
  }
  const auto label = column_number(question.label_column);
  if (!label || !column_number(question.text_column)) {
    return true;
  }
  return looks_like_header(rows, find_by_number(question, *label, rows[0].size()));
}

}  // namespace

Dialect TableLayout::dialect() const {
  Dialect dialect = dialect_of(format);
  dialect.header = header;
  return dialect;
}

bool looks_like_header(const std::vector<std::vector<std::string>>& rows, std::size_t label) {
  constexpr std::size_t kLongestName = 64;
  const Row& first = rows[0];
  const bool names = std::none_of(first.begin(), first.end(), [](const std::string& cell) {
    return cell.empty() || cell.size() > kLongestName || number_of(cell).has_value();
  });
  const std::set<std::string> distinct(first.begin(), first.end());
  const bool met_again = std::any_of(rows.begin() + 1, rows.end(),
                                     [&](const Row& row) { return row[label] == first[label]; });
  return names && distinct.size() == first.size() && rows.size() > 1 && !met_again;
}

TableLayout inspect_table(const TableQuestion& question) {
  TableLayout layout;
  layout.format = find_format(question);
  const std::vector<Row> rows = first_rows(question, layout.format);
  if (rows.empty()) {
    throw InputError(65, concat(question.path, " is empty"), "it needs a text and a label a row");
  }
  layout.header = decide_header(question, rows);
  const auto column = [&](const std::string& name) {
    return layout.header ? find_by_name(question, name, rows[0])
                         : find_without_header(question, name, rows[0].size());
  };
  layout.text = column(question.text_column);
  layout.label = column(question.label_column);
  if (layout.text == layout.label) {
    throw InputError(
        2, concat("text and label are both column ", layout.text + 1, " of ", question.path),
        "name two columns with --text and --label");
  }
  return layout;
}

}  // namespace bp::trainer
