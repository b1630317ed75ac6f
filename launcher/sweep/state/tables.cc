#include "launcher/sweep/state/tables.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher::sweep {
namespace {

// `result` is the best value so far. The index serves `status`, which counts the states and shows
// the best trials of a hundred thousand.
constexpr const char* kTables = R"(
CREATE TABLE settings(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE trials(
  number INTEGER PRIMARY KEY, block INTEGER NOT NULL, position INTEGER NOT NULL,
  repeat INTEGER NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0,
  exit_code INTEGER NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '',
  hosts TEXT NOT NULL DEFAULT '', started REAL NOT NULL DEFAULT 0,
  attempt_started REAL NOT NULL DEFAULT 0, ended REAL NOT NULL DEFAULT 0,
  seconds REAL NOT NULL DEFAULT 0, result REAL, step INTEGER NOT NULL DEFAULT 0,
  output_offset INTEGER NOT NULL DEFAULT 0, error_offset INTEGER NOT NULL DEFAULT 0,
  asked TEXT NOT NULL DEFAULT 'none',
  parameters TEXT NOT NULL);
CREATE INDEX trials_by_result ON trials(state, result);
CREATE TABLE metrics(trial INTEGER NOT NULL, step INTEGER NOT NULL, value REAL NOT NULL,
  PRIMARY KEY(trial, step)) WITHOUT ROWID;
CREATE TABLE hosts(name TEXT PRIMARY KEY, slots INTEGER NOT NULL, present INTEGER NOT NULL,
  reason TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE TABLE events(id INTEGER PRIMARY KEY, time REAL NOT NULL, trial INTEGER, host TEXT,
  what TEXT NOT NULL);
CREATE TABLE requests(id INTEGER PRIMARY KEY, what TEXT NOT NULL, trial INTEGER NOT NULL);
)";

}  // namespace

std::string sweep_file(const std::string& folder) { return folder + "/sweep.sqlite"; }

void make_sweep_tables(SQLite::Database& database) {
  SQLite::Transaction transaction(database);
  database.exec(concat("PRAGMA application_id=", kSweepApplication));
  database.exec(concat("PRAGMA user_version=", kSweepVersion));
  database.exec(kTables);
  transaction.commit();
}

void check_sweep_file(SQLite::Database& database, const std::string& path) {
  try {
    if (database.execAndGet("PRAGMA application_id").getInt() != kSweepApplication) {
      throw Error(ErrorCode::invalid_argument, concat(path, " is not a file of bprun sweep"));
    }
    const int version = database.execAndGet("PRAGMA user_version").getInt();
    if (version != kSweepVersion) {
      throw Error(ErrorCode::invalid_argument,
                  concat(path, " has version ", version, ", and this bprun sweep reads version ",
                         kSweepVersion, "; use the bprun that made it, or another --folder"));
    }
  } catch (const SQLite::Exception& error) {
    throw Error(ErrorCode::invalid_argument,
                concat(path, " is not a file of bprun sweep: ", error.what()));
  }
}

std::string parameters_text(const Parameters& parameters) {
  auto list = nlohmann::json::array();
  for (const auto& [name, value] : parameters) {
    list.push_back({name, kind_letter(value), value.text()});
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Parameters parameters_of(const std::string& text) {
  Parameters parameters;
  for (const auto& entry : nlohmann::json::parse(text)) {
    parameters.emplace_back(entry.at(0).get<std::string>(),
                            value_of(entry.at(1).get<std::string>(), entry.at(2)));
  }
  return parameters;
}

TrialRecord read_trial(SQLite::Statement& row) {
  TrialRecord trial;
  int i = 0;
  trial.number = row.getColumn(i++);
  trial.block = row.getColumn(i++);
  trial.index = row.getColumn(i++);
  trial.repeat = row.getColumn(i++);
  trial.state = trial_state_of(row.getColumn(i++).getString()).value_or(TrialState::waiting);
  trial.attempts = row.getColumn(i++);
  trial.failures = row.getColumn(i++);
  trial.exit_code = row.getColumn(i++);
  trial.reason = row.getColumn(i++).getString();
  trial.hosts = row.getColumn(i++).getString();
  trial.started = row.getColumn(i++);
  trial.attempt_started = row.getColumn(i++);
  trial.ended = row.getColumn(i++);
  trial.seconds = row.getColumn(i++);
  if (const auto result = row.getColumn(i++); !result.isNull()) {
    trial.result = result.getDouble();
  }
  trial.step = row.getColumn(i++).getInt64();
  trial.output_offset = row.getColumn(i++).getInt64();
  trial.error_offset = row.getColumn(i++).getInt64();
  trial.asked = stop_reason_of(row.getColumn(i++).getString()).value_or(StopReason::none);
  trial.parameters = parameters_of(row.getColumn(i++).getString());
  const auto result_step = row.getColumn(i++);  // null if the trial has repeated that step
  trial.result_step = result_step.isNull() ? trial.step : result_step.getInt64();
  return trial;
}

}  // namespace bp::launcher::sweep
