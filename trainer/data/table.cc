#include "trainer/data/table.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <optional>
#include <set>

#include "base/nearest.h"
#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/json_keys.h"
#include "trainer/data/numbers.h"
#include "trainer/data/shown_names.h"

namespace bp::trainer {
namespace {

std::optional<std::size_t> column_number(const std::string& column) {
  std::size_t number = 0;
  const char* end = column.data() + column.size();
  const auto [stop, error] = std::from_chars(column.data(), end, number);
  if (error != std::errc{} || stop != end || column.empty()) {
    return std::nullopt;
  }
  return number;
}

bool holds(const TableRow& row, const std::string& column) {
  const auto number = column_number(column);
  return (number && *number >= 1 && *number <= row.size()) ||
         std::find(row.begin(), row.end(), column) != row.end();
}

TableFormat find_format(const TableQuestion& question) {
  return find_table_format(
      {.path = question.path,
       .format = question.format,
       .separator = question.separator,
       .encoding = question.encoding,
       .by_name = !column_number(question.text_column) || !column_number(question.label_column),
       .holds_columns = [&](const TableRow& row) {
         return holds(row, question.text_column) && holds(row, question.label_column);
       }});
}

std::size_t find_by_number(const TableQuestion& question, std::size_t number, std::size_t columns) {
  if (number < 1 || number > columns) {
    throw InputError(2, concat(question.path, " has no column ", number, ": it has ", columns),
                     columns == 1
                         ? "are its fields separated otherwise? see --separator and --format"
                         : "columns are counted from 1");
  }
  return number - 1;
}

struct NamedColumn {
  const std::string& name;
  std::size_t first = 0;  // the first column with that name, from 0
};

// A name that two columns have names neither.
void refuse_second(const TableQuestion& question,
                   const NamedColumn& column,
                   const TableRow& names) {
  const auto second = std::find(names.begin() + static_cast<std::ptrdiff_t>(column.first) + 1,
                                names.end(), column.name);
  if (second == names.end()) return;
  const char* option = column.name == question.text_column ? "--text " : "--label ";
  throw InputError(2,
                   concat(question.path, " has two columns named '", column.name, "', ",
                          column.first + 1, " and ", second - names.begin() + 1),
                   concat("give the number of the right one, and say that there is a header: ",
                          option, column.first + 1, " --header yes"));
}

std::size_t find_by_name(const TableQuestion& question,
                         const std::string& name,
                         const TableRow& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) {
    const auto first = static_cast<std::size_t>(found - names.begin());
    refuse_second(question, {name, first}, names);
    return first;
  }
  if (const auto number = column_number(name)) {
    return find_by_number(question, *number, names.size());
  }
  const std::string nearest = nearest_name(name, names);
  throw InputError(
      2, concat(question.path, " has no column '", name, "': it has ", shown_names(names)),
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
                            " is given by name, but there is no header"),
                     "give its number, from 1, or --header yes");
  }
  return find_by_number(question, *number, columns);
}

bool decide_header(const TableQuestion& question, const std::vector<TableRow>& rows) {
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

bool looks_like_header(const std::vector<TableRow>& rows, std::size_t label) {
  constexpr std::size_t kLongestName = 64;
  const TableRow& first = rows[0];
  const bool names = std::none_of(first.begin(), first.end(), [](const std::string& cell) {
    return cell.empty() || cell.size() > kLongestName || number_of(cell).has_value();
  });
  const std::set<std::string> distinct(first.begin(), first.end());
  const bool met_again = std::any_of(rows.begin() + 1, rows.end(), [&](const TableRow& row) {
    return row[label] == first[label];
  });
  return names && distinct.size() == first.size() && rows.size() > 1 && !met_again;
}

std::string TableLayout::text_name() const {
  if (format.text == TextFormat::jsonl) return concat("key '", keys.text, "'");
  return concat("column ", text + 1);
}

std::string TableLayout::label_name() const {
  if (format.text == TextFormat::jsonl) return concat("key '", keys.label, "'");
  return concat("column ", label + 1);
}

TableLayout inspect_table(const TableQuestion& question) {
  TableLayout layout{.encoding = question.encoding};
  layout.format = find_format(question);
  if (layout.format.text == TextFormat::jsonl) {
    layout.keys = find_json_keys(question);
    return layout;
  }
  // A broken row further down is reported when all of the table is read: only then is it known
  // whether the first record is a header, and so the row's number.
  const FirstRows first =
      read_first_rows(question.path, layout.format.dialect(false), question.encoding);
  const std::vector<TableRow>& rows = first.rows;
  if (rows.empty() && first.error) {
    std::rethrow_exception(first.error);
  }
  if (rows.empty()) {
    throw InputError(65, concat(question.path, " is empty"), "it needs a text and a label per row");
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
