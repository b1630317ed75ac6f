// The tables of sweep.sqlite.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

#include "launcher/sweep/state/trial_record.h"

namespace bp::launcher::sweep {

inline constexpr int kSweepApplication = 0x62705377;  // "bpSw", in the header of the file
inline constexpr int kSweepVersion = 2;

[[nodiscard]] std::string sweep_file(const std::string& folder);  // FOLDER/sweep.sqlite

void make_sweep_tables(SQLite::Database& database);

// Throws invalid_argument, naming `path`, if the database is not one of bprun sweep or is of
// another version.
void check_sweep_file(SQLite::Database& database, const std::string& path);

// The columns of a trial that read_trial() expects, in its order.
inline constexpr const char* kTrialColumns =
    "number, block, position, repeat, state, attempts, failures, exit_code, reason, hosts, "
    "started, "
    "attempt_started, ended, seconds, result, step, output_offset, error_offset, asked, "
    "parameters, "
    "(SELECT min(step) FROM metrics WHERE trial=trials.number AND value=trials.result)";

[[nodiscard]] TrialRecord read_trial(SQLite::Statement& row);

// Parameters are one JSON array of [name, kind, exact text].
[[nodiscard]] std::string parameters_text(const Parameters& parameters);
[[nodiscard]] Parameters parameters_of(const std::string& text);

}  // namespace bp::launcher::sweep
