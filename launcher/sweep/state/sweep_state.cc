#include "launcher/sweep/state/sweep_state.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/process/file_lock.h"
#include "launcher/sweep/state/sql_fields.h"

namespace bp::launcher::sweep {
namespace {

constexpr int kSweepApplication = 0x62705377;  // "bpSw", in the header of the file
constexpr int kSweepVersion = 2;
constexpr int kNotADatabase = 26;  // SQLITE_NOTADB, of a header that SQLiteCpp does not include
// For a writer that recovers its log; another shell writes a request for microseconds.
constexpr int kBusyMilliseconds = 10'000;

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

void check_sweep_file(SQLite::Database& database, const std::string& path) {
  if (database.execAndGet("PRAGMA application_id").getInt() != kSweepApplication) {
    throw Error(ErrorCode::invalid_argument, concat(path, " is not a file of bprun sweep"));
  }
  const int version = database.execAndGet("PRAGMA user_version").getInt();
  if (version != kSweepVersion) {
    throw Error(ErrorCode::invalid_argument,
                concat(path, " has version ", version, ", and this bprun sweep reads version ",
                       kSweepVersion, "; use the bprun that made it, or another --folder"));
  }
}

void make_sweep_tables(SQLite::Database& database) {
  SQLite::Transaction transaction(database);
  database.exec(concat("PRAGMA application_id=", kSweepApplication));
  database.exec(concat("PRAGMA user_version=", kSweepVersion));
  database.exec(kTables);
  transaction.commit();
}

std::string lock_file(const std::string& folder) { return folder + "/sweep.lock"; }

FileLock lock_of(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::io, concat("cannot make the folder ", folder, ": ", error.message()));
  }
  FileLock lock(lock_file(folder));
  if (lock.taken()) return lock;
  const auto pid = sweep_process(folder);
  throw Error(ErrorCode::unavailable,
              concat("a sweep runs in ", folder, " already",
                     pid && *pid > 0 ? concat(" (process ", *pid, ")") : std::string(),
                     "; wait for it, end it with bprun sweep stop ", folder,
                     ", or choose another --folder"));
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

// The folder that a path, a folder or the file in it, means.
std::string sweep_folder_of(const std::string& path) {
  if (is_folder(path)) return path;
  const auto parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

class SweepReader::File {
 public:
  File(std::string path, int flags, std::optional<FileLock> lock = {})
      : path_(std::move(path)), flags_(flags), lock_(std::move(lock)) {
    guarded([&] {
      database_.emplace(path_, flags, kBusyMilliseconds);
      if ((flags & SQLite::OPEN_CREATE) == 0) {
        check_sweep_file(*database_, path_);
        return;
      }
      if (database_->execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0) {
        make_sweep_tables(*database_);
      }
      check_sweep_file(*database_, path_);
      database_->exec("PRAGMA journal_mode=WAL");
      database_->exec("PRAGMA synchronous=NORMAL");  // a power cut may undo the last changes
    });
  }

  template <class... Values>
  void run(const std::string& sql, const Values&... values) {
    guarded([&] { statement(sql, values...).exec(); });
  }

  // Calls `take` with each row of the query.
  template <class Take, class... Values>
  void each(const std::string& sql, const Take& take, const Values&... values) {
    guarded([&] {
      SQLite::Statement& row = statement(sql, values...);
      while (row.executeStep()) take(row);
    });
  }

  // Replaces the record with the same key.
  template <class Record>
  void put(const char* table, const Record& record) {
    static const ColumnNames columns = columns_of<Record>();
    guarded([&] {
      SQLite::Statement& row = statement(concat("INSERT OR REPLACE INTO ", table, "(",
                                                columns.stored, ") VALUES(", columns.marks, ")"));
      ColumnWriter writer(row);
      fields(writer, record);
      row.exec();
    });
  }

  template <class Record, class... Values>
  std::vector<Record> get(const char* table, const std::string& rest, const Values&... values) {
    std::vector<Record> records;
    each(
        concat("SELECT ", columns_of<Record>().all, " FROM ", table, " ", rest),
        [&](SQLite::Statement& row) {
          ColumnReader reader(row);
          fields(reader, records.emplace_back());
        },
        values...);
    return records;
  }

  // Makes the changes of `action` all at once.
  template <class Action>
  void at_once(const Action& action) {
    guarded([&] {
      SQLite::Transaction transaction(*database_);
      action();
      transaction.commit();
    });
  }

 private:
  // Statements are prepared once. Each is reset before its next use.
  template <class... Values>
  SQLite::Statement& statement(const std::string& sql, const Values&... values) {
    SQLite::Statement& kept = statements_.try_emplace(sql, *database_, sql).first->second;
    kept.reset();
    kept.clearBindings();
    ColumnWriter writer(kept);
    (writer.put(values), ...);
    return kept;
  }

  // Turns an error of SQLite, such as a full disk, into one that names the file.
  template <class Action>
  void guarded(const Action& action) const {
    try {
      action();
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() == kNotADatabase) {
        throw Error(ErrorCode::invalid_argument,
                    concat(path_, " is not a file of bprun sweep: ", error.what()));
      }
      throw Error(ErrorCode::io, concat("cannot ", flags_ == SQLite::OPEN_READONLY ? "read" : "use",
                                        " ", path_, ": ", error.what()));
    }
  }

  std::string path_;
  int flags_;
  std::optional<FileLock> lock_;
  std::optional<SQLite::Database> database_;
  std::map<std::string, SQLite::Statement> statements_;
};

SweepReader::SweepReader(const std::string& path) : folder_(sweep_folder_of(path)) {
  const std::string file = is_folder(path) ? sweep_file(path) : path;
  if (std::error_code error; !std::filesystem::exists(file, error)) {
    throw Error(ErrorCode::invalid_argument,
                concat("there is no ", file, "; name a folder that bprun sweep made"));
  }
  file_ = std::make_unique<File>(file, SQLite::OPEN_READONLY);
}

SweepReader::SweepReader(std::string folder, std::unique_ptr<File> file)
    : folder_(std::move(folder)), file_(std::move(file)) {}

SweepReader::~SweepReader() = default;

std::string SweepReader::setting(const std::string& name) {
  std::string value;
  file_->each(
      "SELECT value FROM settings WHERE name=?",
      [&](SQLite::Statement& row) { value = row.getColumn(0).getString(); }, name);
  return value;
}

Direction SweepReader::direction() {
  return setting("direction") == "min" ? Direction::min : Direction::max;
}

std::map<TrialState, int> SweepReader::counts() {
  std::map<TrialState, int> counts;
  file_->each("SELECT state, count(*) FROM trials GROUP BY state", [&](SQLite::Statement& row) {
    if (const auto state = trial_state_of(row.getColumn(0).getString())) {
      counts[*state] = row.getColumn(1).getInt();
    }
  });
  return counts;
}

std::vector<TrialRecord> SweepReader::trials() {
  return file_->get<TrialRecord>("trials", "ORDER BY number");
}

std::vector<TrialRecord> SweepReader::trials(TrialState state) {
  return file_->get<TrialRecord>("trials", "WHERE state=? ORDER BY number", state);
}

std::optional<TrialRecord> SweepReader::trial(int number) {
  const auto found = file_->get<TrialRecord>("trials", "WHERE number=?", number);
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
  return file_->get<TrialRecord>("trials",
                                 concat(sql, ") ORDER BY result ", order, ", number LIMIT ", most));
}

std::vector<Report> SweepReader::reports(int trial) {
  std::vector<Report> reports;
  file_->each(
      "SELECT step, value FROM metrics WHERE trial=? ORDER BY step",
      [&](SQLite::Statement& row) {
        reports.push_back({row.getColumn(0).getInt64(), row.getColumn(1).getDouble()});
      },
      trial);
  return reports;
}

void SweepReader::each_report(const std::function<void(int, std::int64_t, double)>& take) {
  file_->each(
      "SELECT trial, step, value FROM metrics ORDER BY trial, step", [&](SQLite::Statement& row) {
        take(row.getColumn(0).getInt(), row.getColumn(1).getInt64(), row.getColumn(2).getDouble());
      });
}

std::vector<HostRecord> SweepReader::hosts() {
  return file_->get<HostRecord>("hosts", "ORDER BY name");
}

double SweepReader::mean_seconds() {
  double mean = 0;
  file_->each("SELECT coalesce(avg(seconds), 0) FROM trials WHERE state='finished'",
              [&](SQLite::Statement& row) { mean = row.getColumn(0).getDouble(); });
  return mean;
}

SweepState::SweepState(const std::string& folder)
    : SweepReader(
          folder,
          std::make_unique<File>(
              sweep_file(folder), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, lock_of(folder))) {}

void SweepState::put_setting(const std::string& name, const std::string& value) {
  file().run("INSERT OR REPLACE INTO settings(name, value) VALUES(?,?)", name, value);
}

void SweepState::save(const TrialRecord& trial) { file().put("trials", trial); }

void SweepState::report(const TrialRecord& trial, const std::vector<Report>& reports) {
  file().at_once([&] {
    for (const auto& [step, value] : reports) {
      file().run("INSERT OR REPLACE INTO metrics(trial, step, value) VALUES(?,?,?)", trial.number,
                 step, value);
    }
    save(trial);
  });
}

void SweepState::host(const HostRecord& host) { file().put("hosts", host); }

void SweepState::event(const std::string& what, std::optional<int> trial, const std::string& host) {
  file().run("INSERT INTO events(time, trial, host, what) VALUES(?,?,?,?)", wall_time(), trial,
             host.empty() ? std::nullopt : std::optional(host), what);
}

std::vector<Request> SweepState::take_requests() {
  std::vector<Request> requests;
  file().each("SELECT what, trial FROM requests ORDER BY id", [&](SQLite::Statement& row) {
    requests.push_back({row.getColumn(0).getString(), row.getColumn(1).getInt()});
  });
  if (!requests.empty()) file().run("DELETE FROM requests");
  return requests;
}

void post_request(const std::string& folder, const Request& request) {
  SweepReader::File(sweep_file(folder), SQLite::OPEN_READWRITE)
      .run("INSERT INTO requests(what, trial) VALUES(?,?)", request.what, request.trial);
}

std::optional<pid_t> sweep_process(const std::string& folder) {
  return FileLock::holder(lock_file(folder));
}

std::string sweep_file(const std::string& folder) { return folder + "/sweep.sqlite"; }

}  // namespace bp::launcher::sweep
