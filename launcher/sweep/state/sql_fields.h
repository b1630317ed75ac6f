// Writes and reads records as rows of SQLite by their fields(column, record) (base/fields.h). The
// archives have the same functions:
//
//   column("steps", it.steps);            a column
//   column.computed("a + b", it.sum);     an expression over columns: it is only read
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "launcher/sweep/space/trial.h"
#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

// Parameters are one JSON array of [name, kind, exact text].
inline std::string parameters_text(const Parameters& parameters) {
  auto list = nlohmann::json::array();
  for (const auto& [name, value] : parameters) {
    list.push_back({name, kind_letter(value), value.text()});
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

inline Parameters parameters_of(const std::string& text) {
  Parameters parameters;
  for (const auto& entry : nlohmann::json::parse(text)) {
    parameters.emplace_back(entry.at(0).get<std::string>(),
                            value_of(entry.at(1).get<std::string>(), entry.at(2)));
  }
  return parameters;
}

// The names of the columns, as SELECT and INSERT want them.
struct ColumnNames {
  std::string stored = {};
  std::string marks = {};  // a question mark for each
  std::string all = {};    // with those that are computed from others

  void operator()(const char* name, const auto& /*value*/) {
    stored += concat(stored.empty() ? "" : ", ", name);
    marks += marks.empty() ? "?" : ",?";
    computed(name, 0);
  }
  void computed(const char* sql, const auto& /*value*/) {
    all += concat(all.empty() ? "" : ", ", sql);
  }
};

template <class Record>
ColumnNames columns_of() {
  ColumnNames columns;
  const Record record;
  fields(columns, record);
  return columns;
}

// The values of a statement, from the first one on.
class ColumnWriter {
 public:
  explicit ColumnWriter(SQLite::Statement& row) : row_(row) {}

  void operator()(const char* /*name*/, const auto& value) { put(value); }
  void computed(const char* /*sql*/, const auto& /*value*/) {}

  template <class Value>
  void put(const Value& value) {
    if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
      row_.bind(++place_, value);
    } else if constexpr (std::is_enum_v<Value>) {
      put(std::string(name_of(value)));
    } else if constexpr (std::is_same_v<Value, Parameters>) {
      put(parameters_text(value));
    } else {  // an optional value
      value ? put(*value) : row_.bind(++place_);
    }
  }

 private:
  SQLite::Statement& row_;
  int place_ = 0;
};

// The values of a row. A name that this version does not know is read as the first one.
class ColumnReader {
 public:
  explicit ColumnReader(SQLite::Statement& row) : row_(row) {}

  void operator()(const char* /*name*/, auto& value) { get(row_.getColumn(place_++), value); }
  void computed(const char* /*sql*/, auto& value) { get(row_.getColumn(place_++), value); }

 private:
  static void get(const SQLite::Column& column, bool& value) { value = column.getInt() != 0; }
  static void get(const SQLite::Column& column, int& value) { value = column.getInt(); }
  static void get(const SQLite::Column& column, std::int64_t& value) { value = column.getInt64(); }
  static void get(const SQLite::Column& column, double& value) { value = column.getDouble(); }
  static void get(const SQLite::Column& column, std::string& value) { value = column.getString(); }
  static void get(const SQLite::Column& column, std::optional<double>& value) {
    if (!column.isNull()) value = column.getDouble();
  }
  static void get(const SQLite::Column& column, TrialState& value) {
    value = trial_state_of(column.getString()).value_or(TrialState());
  }
  static void get(const SQLite::Column& column, StopReason& value) {
    value = stop_reason_of(column.getString()).value_or(StopReason());
  }
  static void get(const SQLite::Column& column, Parameters& value) {
    value = parameters_of(column.getString());
  }

  SQLite::Statement& row_;
  int place_ = 0;
};

}  // namespace bp::launcher::sweep
