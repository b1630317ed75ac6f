#include "trainer/input/table_format.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/common/text_list.h"
#include "trainer/input/file_kind.h"
#include "trainer/input/open_input.h"

namespace bp::trainer {
namespace {

std::string lower_suffix(const std::string& file) {
  const std::string path = unpacked_name(file);
  const std::size_t dot = path.find_last_of("./");
  if (dot == std::string::npos || path[dot] == '/') return {};
  std::string suffix = path.substr(dot);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return suffix;
}

TextFormat find_text_format(const FormatQuestion& question) {
  if (question.format == TextFormat::jsonl) return question.format;
  if (begins_with_object(open_input(question.path, question.encoding)->start())) {
    if (question.format == TextFormat::automatic) return TextFormat::jsonl;
    throw InputError(65, concat(question.path, " is a JSON or JSON lines file, not a table"),
                     "leave out --format, or give --format jsonl");
  }
  if (question.format != TextFormat::automatic) return question.format;
  const std::string suffix = lower_suffix(question.path);
  if (suffix == ".csv") return TextFormat::csv;
  if (suffix == ".tsv" || suffix == ".tab") return TextFormat::tsv;
  if (suffix == ".jsonl" || suffix == ".ndjson") return TextFormat::jsonl;
  if (question.separator != kFindSeparator && question.separator != kTsv.separator) {
    return TextFormat::csv;
  }
  TableReader reader(question.path, kTsv, question.encoding);
  return reader.next() && reader.fields().size() > 1 ? TextFormat::tsv : TextFormat::csv;
}

// What a file looks like when it is read with one separator.
struct Reading {
  char separator = ',';
  std::size_t columns = 0;  // of the first row
  bool holds_columns = false;
  bool whole = false;  // no broken row among the first ones
};

Reading read_with(char separator, const FormatQuestion& question) {
  const FirstRows first = read_first_rows(
      question.path, {.separator = separator, .backslash = question.backslash}, question.encoding);
  Reading reading{.separator = separator};
  if (first.rows.empty()) return reading;
  reading.columns = first.rows[0].size();
  reading.holds_columns = reading.columns > 1 && question.holds_columns(first.rows[0]);
  reading.whole = !first.error;
  return reading;
}

[[noreturn]] void refuse_ambiguous(const std::string& path, const std::vector<Reading>& fitting) {
  const std::string names = list_of(
      fitting, " or a ", [](const Reading& reading) { return separator_name(reading.separator); });
  throw InputError(
      2, concat(path, " can be read with a ", names, " between its fields"),
      concat("name the right one: --separator ", separator_name(fitting.front().separator),
             ", or --separator ", separator_name(fitting[1].separator)));
}

char find_csv_separator(const FormatQuestion& question) {
  if (const auto announced =
          TableReader(question.path, kCsv, question.encoding).announced_separator()) {
    return *announced;
  }
  std::vector<Reading> readings;
  for (const char separator : kUsualSeparators) readings.push_back(read_with(separator, question));
  const Reading& comma = readings.front();
  if (comma.holds_columns && question.by_name) return comma.separator;

  std::vector<Reading> fitting;
  std::copy_if(readings.begin(), readings.end(), std::back_inserter(fitting),
               [](const Reading& r) { return r.holds_columns && r.whole; });
  // The comma is the usual one. But where it is the decimal mark, each row may have as many, and
  // Excel writes semicolons there.
  if (comma.holds_columns && comma.whole) {
    std::erase_if(fitting,
                  [](const Reading& r) { return r.separator != ',' && r.separator != ';'; });
  }
  if (fitting.size() > 1) refuse_ambiguous(question.path, fitting);
  if (fitting.size() == 1) return fitting.front().separator;

  // No separator fits: take the one that gives the most helpful error.
  const auto worth = [](const Reading& r) {
    return std::pair(r.holds_columns, r.whole ? r.columns : 1);
  };
  return std::max_element(readings.begin(), readings.end(),
                          [&](const Reading& a, const Reading& b) { return worth(a) < worth(b); })
      ->separator;
}

}  // namespace

Dialect TableFormat::dialect(bool header) const {
  return {.separator = separator,
          .quotes = text != TextFormat::tsv,
          .header = header,
          .backslash = backslash};
}

bool TableFormat::has_usual_separator() const {
  if (text == TextFormat::jsonl) return true;
  return separator == (text == TextFormat::csv ? kCsv.separator : kTsv.separator);
}

std::string TableFormat::name() const {
  if (text == TextFormat::jsonl) return "jsonl";
  return concat(text == TextFormat::csv ? "csv" : "tsv",
                has_usual_separator() ? "" : concat(" separated by ", separator_name(separator)),
                backslash ? " with backslashes" : "");
}

TableFormat find_table_format(const FormatQuestion& question) {
  TableFormat format;
  format.text = find_text_format(question);
  if (format.text == TextFormat::jsonl) return format;
  format.backslash = question.backslash && format.text == TextFormat::csv;
  if (question.separator != kFindSeparator) {
    format.separator = question.separator;
  } else if (format.text == TextFormat::tsv) {
    format.separator = kTsv.separator;
  } else {
    format.separator = find_csv_separator(question);
  }
  return format;
}

FirstRows read_first_rows(const std::string& path,
                          const Dialect& dialect,
                          const std::string& encoding) {
  constexpr std::size_t kEnough = 1000;
  TableReader reader(path, dialect, encoding);
  FirstRows first;
  try {
    while (first.rows.size() < kEnough && reader.next()) {
      first.rows.emplace_back(reader.fields().begin(), reader.fields().end());
    }
  } catch (const InputError&) {
    first.error = std::current_exception();
  }
  return first;
}

}  // namespace bp::trainer
