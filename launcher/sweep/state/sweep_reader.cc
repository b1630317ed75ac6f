#include "launcher/sweep/state/sweep_reader.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/sweep/state/tables.h"

namespace bp::launcher::sweep {
namespace {

constexpr int kReaderPatience = 10'000;  // milliseconds, for a writer that recovers its log

SQLite::Database open_for_reading(const std::string& path) {
  try {
    SQLite::Database database(path, SQLite::OPEN_READONLY, kReaderPatience);
    check_sweep_file(database, path);
    return database;
  } catch (const SQLite::Exception& error) {
    throw Error(ErrorCode::io, concat("cannot read ", path, ": ", error.what()));
  }
}

}  // namespace

class SweepReader::Impl {
 public:
  explicit Impl(const std::string& path) : database_(open_for_reading(path)) {}

  // Calls `take` with each row of the query, whose parameters `bind` sets.
  template <class Bind, class Take>
  void each(const std::string& sql, Bind bind, Take take) {
    try {
      SQLite::Statement row(database_, sql);
      bind(row);
      while (row.executeStep()) {
        take(row);
      }
    } catch (const SQLite::Exception& error) {
      throw Error(ErrorCode::io,
                  concat("cannot read ", database_.getFilename(), ": ", error.what()));
    }
  }

  template <class Bind>
  std::vector<TrialRecord> trials(const std::string& rest, Bind bind) {
    std::vector<TrialRecord> trials;
    each(concat("SELECT ", kTrialColumns, " FROM trials ", rest), bind,
         [&](SQLite::Statement& row) { trials.push_back(read_trial(row)); });
    return trials;
  }

  std::vector<TrialRecord> trials(const std::string& rest) {
    return trials(rest, [](SQLite::Statement&) {});
  }

 private:
  SQLite::Database database_;
};

std::string sweep_folder_of(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return path;
  }
  const auto parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

SweepReader::SweepReader(const std::string& path) : folder_(sweep_folder_of(path)) {
  std::error_code error;
  const std::string file = std::filesystem::is_directory(path, error) ? sweep_file(path) : path;
  if (!std::filesystem::exists(file, error)) {
    throw Error(ErrorCode::invalid_argument,
                concat("there is no ", file, "; name a folder that bprun sweep made"));
  }
  impl_ = std::make_unique<Impl>(file);
}

SweepReader::~SweepReader() = default;

std::string SweepReader::setting(const std::string& name) {
  std::string value;
  impl_->each(
      "SELECT value FROM settings WHERE name=?", [&](SQLite::Statement& row) { row.bind(1, name); },
      [&](SQLite::Statement& row) { value = row.getColumn(0).getString(); });
  return value;
}

Direction SweepReader::direction() {
  return setting("direction") == "min" ? Direction::min : Direction::max;
}

std::map<TrialState, int> SweepReader::counts() {
  std::map<TrialState, int> counts;
  impl_->each(
      "SELECT state, count(*) FROM trials GROUP BY state", [](SQLite::Statement&) {},
      [&](SQLite::Statement& row) {
        if (const auto state = trial_state_of(row.getColumn(0).getString())) {
          counts[*state] = row.getColumn(1).getInt();
        }
      });
  return counts;
}

std::vector<TrialRecord> SweepReader::trials() { return impl_->trials("ORDER BY number"); }

std::vector<TrialRecord> SweepReader::trials(TrialState state) {
  return impl_->trials("WHERE state=? ORDER BY number",
                       [&](SQLite::Statement& row) { row.bind(1, std::string(name_of(state))); });
}

std::optional<TrialRecord> SweepReader::trial(int number) {
  const auto found =
      impl_->trials("WHERE number=?", [&](SQLite::Statement& row) { row.bind(1, number); });
  return found.empty() ? std::nullopt : std::optional(found.front());
}

// One query for each state, because the index orders results within a state.
std::vector<TrialRecord> SweepReader::best(int most, Direction direction) {
  const char* const order = direction == Direction::max ? "DESC" : "ASC";
  std::string sql = "WHERE number IN (";
  for (const char* state : {"finished", "stopped", "paused", "running", "waiting"}) {
    sql += concat(sql.ends_with('(') ? "" : " UNION ALL ",
                  "SELECT * FROM (SELECT number FROM trials", " WHERE state='", state,
                  "' AND result IS NOT NULL ORDER BY result ", order, ", number LIMIT ", most, ")");
  }
  return impl_->trials(concat(sql, ") ORDER BY result ", order, ", number LIMIT ", most));
}

std::vector<Report> SweepReader::reports(int trial) {
  std::vector<Report> reports;
  impl_->each(
      "SELECT step, value FROM metrics WHERE trial=? ORDER BY step",
      [&](SQLite::Statement& row) { row.bind(1, trial); },
      [&](SQLite::Statement& row) {
        reports.push_back({row.getColumn(0).getInt64(), row.getColumn(1).getDouble()});
      });
  return reports;
}

std::vector<HostRecord> SweepReader::hosts() {
  std::vector<HostRecord> hosts;
  impl_->each(
      "SELECT name, slots, present, reason FROM hosts ORDER BY name", [](SQLite::Statement&) {},
      [&](SQLite::Statement& row) {
        hosts.push_back({row.getColumn(0).getString(), row.getColumn(1).getInt(),
                         row.getColumn(2).getInt() != 0, row.getColumn(3).getString()});
      });
  return hosts;
}

double SweepReader::mean_seconds() {
  double mean = 0;
  impl_->each(
      "SELECT coalesce(avg(seconds), 0) FROM trials WHERE state='finished'",
      [](SQLite::Statement&) {},
      [&](SQLite::Statement& row) { mean = row.getColumn(0).getDouble(); });
  return mean;
}

}  // namespace bp::launcher::sweep
