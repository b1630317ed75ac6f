#include "trainer/input/table.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>

#include "base/input_error.h"
#include "base/options/value_text.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/input/json_lines_reader.h"
#include "trainer/input/shown_names.h"

namespace bp::trainer {
namespace {

bool holds(const TableRow& row, const std::string& column) {
  const auto number = number_in<std::size_t>(column);
  return (number && *number >= 1 && *number <= row.size()) ||
         std::find(row.begin(), row.end(), column) != row.end();
}

// A name of an answer that no option gives cannot be misspelt, so a test file may lack its column.
bool is_needed(const TableQuestion& question, const Field& field) {
  if (!field.answer) return true;
  return question.answers == Answers::needed ||
         (question.answers == Answers::in_some_rows && !field.fixed);
}

TableFormat find_format(const TableQuestion& question) {
  const auto by_name = [&](const Field& field) {
    return is_needed(question, field) && !number_in<std::size_t>(field.column);
  };
  return find_table_format({.path = question.path,
                            .format = question.format,
                            .separator = question.separator,
                            .backslash = question.backslash,
                            .encoding = question.encoding,
                            .by_name = std::ranges::any_of(question.fields, by_name),
                            .holds_columns = [&](const TableRow& row) {
                              return std::ranges::all_of(question.fields, [&](const Field& field) {
                                return !is_needed(question, field) || holds(row, field.column);
                              });
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

// A name that two columns have names neither. `first`: the first of them, from 0.
void refuse_second(const TableQuestion& question,
                   const Field& field,
                   std::size_t first,
                   const TableRow& names) {
  const auto second =
      std::find(names.begin() + static_cast<std::ptrdiff_t>(first) + 1, names.end(), field.column);
  if (second == names.end()) return;
  throw InputError(2,
                   concat(question.path, " has two columns named '", field.column, "', ", first + 1,
                          " and ", second - names.begin() + 1),
                   field.fixed ? "remove or rename one of them"
                               : concat("give the number of the right one, and say that there is a "
                                        "header: --",
                                        field.name, ' ', first + 1, " --header yes"));
}

// The columns that no field names, one of which a misspelt field may mean.
TableRow names_left_over(const TableQuestion& question, TableRow names) {
  for (const Field& field : question.fields) std::erase(names, field.column);
  return names;
}

std::size_t find_by_name(const TableQuestion& question, const Field& field, const TableRow& names) {
  const auto found = std::find(names.begin(), names.end(), field.column);
  if (found != names.end()) {
    const auto first = static_cast<std::size_t>(found - names.begin());
    refuse_second(question, field, first, names);
    return first;
  }
  if (const auto number = number_in<std::size_t>(field.column)) {
    if (!is_needed(question, field) && *number > names.size()) return TableLayout::kNoColumn;
    return find_by_number(question, *number, names.size());
  }
  if (!is_needed(question, field)) return TableLayout::kNoColumn;
  throw InputError(
      2, concat(question.path, " has no column '", field.column, "': it has ", shown_names(names)),
      hint_for_name(field.column, names_left_over(question, names),
                    concat(hint_for_names("columns", question.fields),
                           field.fixed ? "" : "; where there is no header, by number from 1")));
}

std::size_t find_without_header(const TableQuestion& question,
                                const Field& field,
                                std::size_t columns) {
  const auto number = number_in<std::size_t>(field.column);
  const bool needed = is_needed(question, field);
  if (!needed && (!number || *number > columns)) return TableLayout::kNoColumn;
  if (!number) {
    throw InputError(2,
                     concat("column '", field.column, "' of ", question.path,
                            " is given by name, but there is no header"),
                     "give its number, from 1, or --header yes");
  }
  return find_by_number(question, *number, columns);
}

std::vector<std::size_t> answers_by_number(const TableQuestion& question, std::size_t columns) {
  std::vector<std::size_t> answers;
  for (const Field& field : question.fields) {
    if (!field.answer) continue;
    const auto number = number_in<std::size_t>(field.column);
    if (number && (is_needed(question, field) || *number <= columns)) {
      answers.push_back(find_by_number(question, *number, columns));
    }
  }
  return answers;
}

bool decide_header(const TableQuestion& question, const std::vector<TableRow>& rows) {
  if (question.header != HeaderMode::automatic) {
    return question.header == HeaderMode::yes;
  }
  for (const Field& field : question.fields) {
    if (number_in<std::size_t>(field.column)) continue;
    if (is_needed(question, field) || holds(rows[0], field.column)) return true;
  }
  return looks_like_header(rows, answers_by_number(question, rows[0].size()));
}

// Two fields cannot be in one column.
void refuse_same(const TableQuestion& question, const TableLayout& layout) {
  for (std::size_t b = 1; b < layout.columns.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (layout.columns[a] != layout.columns[b] || layout.columns[a] == TableLayout::kNoColumn) {
        continue;
      }
      throw InputError(
          2,
          concat(question.fields[a].name, " and ", question.fields[b].name, " are both ",
                 layout.name_of(a), " of ", question.path),
          concat("name two columns with ", options_of({question.fields[a], question.fields[b]})));
    }
  }
}

}  // namespace

bool looks_like_header(const std::vector<TableRow>& rows, const std::vector<std::size_t>& answers) {
  constexpr std::size_t kLongestName = 64;
  const TableRow& first = rows[0];
  const bool names = std::none_of(first.begin(), first.end(), [](const std::string& cell) {
    return cell.empty() || cell.size() > kLongestName || number_of(cell).has_value();
  });
  const std::set<std::string> distinct(first.begin(), first.end());
  const bool met_again = std::any_of(rows.begin() + 1, rows.end(), [&](const TableRow& row) {
    return std::ranges::any_of(answers, [&](std::size_t a) { return row[a] == first[a]; });
  });
  return names && distinct.size() == first.size() && rows.size() > 1 && !met_again;
}

std::string TableLayout::name_of(std::size_t field) const {
  if (format.text == TextFormat::jsonl) return concat("key '", keys[field], "'");
  return columns[field] == kNoColumn ? "no column" : concat("column ", columns[field] + 1);
}

TableLayout inspect_table(const TableQuestion& question) {
  TableLayout layout{.encoding = question.encoding};
  layout.format = find_format(question);
  if (layout.format.text == TextFormat::jsonl) {
    layout.keys = find_json_keys(question);
    for (const Field& field : question.fields) layout.arrays.push_back(field.arrays);
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
    throw InputError(65, concat(question.path, " is empty"), needed_text(question.fields));
  }
  layout.header = decide_header(question, rows);
  for (const Field& field : question.fields) {
    layout.columns.push_back(layout.header ? find_by_name(question, field, rows[0])
                                           : find_without_header(question, field, rows[0].size()));
  }
  refuse_same(question, layout);
  return layout;
}

}  // namespace bp::trainer
