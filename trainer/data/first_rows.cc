#include "trainer/data/first_rows.h"

#include <algorithm>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/separator.h"

namespace bp::trainer {
namespace {

// The result of reading a file with one separator.
struct Reading {
  char separator = ',';
  std::size_t columns = 0;  // number of fields in the first row
  bool holds_columns = false;
  bool whole = false;  // none of the first rows is broken
};

Reading read_with(char separator,
                  const std::string& path,
                  const std::function<bool(const TableRow&)>& holds_columns) {
  const FirstRows first = read_first_rows(path, {.separator = separator});
  Reading reading{.separator = separator};
  if (first.rows.empty()) return reading;
  reading.columns = first.rows[0].size();
  reading.holds_columns = reading.columns > 1 && holds_columns(first.rows[0]);
  reading.whole = !first.error;
  return reading;
}

[[noreturn]] void refuse_ambiguous(const std::string& path, const std::vector<Reading>& fitting) {
  std::string names;
  for (const Reading& reading : fitting) {
    names += concat(names.empty() ? "" : " or a ", separator_name(reading.separator));
  }
  throw InputError(
      2, concat(path, " can be read with a ", names, " between its fields"),
      concat("name the right one: --separator ", separator_name(fitting.front().separator)));
}

}  // namespace

FirstRows read_first_rows(const std::string& path, const Dialect& dialect) {
  constexpr std::size_t kEnough = 1000;
  TableReader reader(path, dialect);
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

char find_separator(const std::string& path,
                    bool by_name,
                    const std::function<bool(const TableRow&)>& holds_columns) {
  if (const auto announced = TableReader(path, kCsv).announced_separator()) return *announced;
  std::vector<Reading> readings;
  for (const char separator : kUsualSeparators) {
    readings.push_back(read_with(separator, path, holds_columns));
  }
  const Reading& comma = readings.front();
  if (comma.holds_columns && (by_name || comma.whole)) return comma.separator;

  std::vector<Reading> fitting;
  std::copy_if(readings.begin(), readings.end(), std::back_inserter(fitting),
               [](const Reading& r) { return r.holds_columns && r.whole; });
  if (fitting.size() > 1) refuse_ambiguous(path, fitting);
  if (fitting.size() == 1) return fitting.front().separator;

  // No separator fits. Choose the one whose error message helps most.
  const auto worth = [](const Reading& r) {
    return std::pair(r.holds_columns, r.whole ? r.columns : 1);
  };
  return std::max_element(readings.begin(), readings.end(),
                          [&](const Reading& a, const Reading& b) { return worth(a) < worth(b); })
      ->separator;
}

}  // namespace bp::trainer
