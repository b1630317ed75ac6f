#include "launcher/sweep/state/sweep_state.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/sweep/state/tables.h"

namespace bp::launcher::sweep {
namespace {

constexpr int kNotADatabase = 26;  // SQLITE_NOTADB, of a header that SQLiteCpp does not include
constexpr int kBusyMilliseconds = 10'000;  // another shell writes a request for microseconds

// Runs `action` and turns an error of SQLite, such as a full disk, into one that names the file.
template <class Action>
auto on_file(const std::string& path, Action action) {
  try {
    return action();
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() == kNotADatabase) {
      throw Error(ErrorCode::invalid_argument,
                  concat(path, " is not a file of bprun sweep: ", error.what()));
    }
    throw Error(ErrorCode::io, concat("cannot use ", path, ": ", error.what()));
  }
}

const std::string& made_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::io, concat("cannot make the folder ", folder, ": ", error.message()));
  }
  return folder;
}

WallTime now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

class SweepState::Impl {
 public:
  explicit Impl(const std::string& path)
      : database_(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, kBusyMilliseconds) {
    if (database_.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0) {
      make_sweep_tables(database_);
    }
    check_sweep_file(database_, path);
    database_.exec("PRAGMA journal_mode=WAL");
    database_.exec("PRAGMA synchronous=NORMAL");  // a power cut may undo the last changes
  }

  // Statements are prepared once. Each is reset before its next use.
  SQLite::Statement& statement(std::unique_ptr<SQLite::Statement>& kept, const char* sql) {
    if (!kept) {
      kept = std::make_unique<SQLite::Statement>(database_, sql);
    }
    kept->reset();
    kept->clearBindings();
    return *kept;
  }

  void save(const TrialRecord& trial) {
    SQLite::Statement& row = statement(
        save_,
        "UPDATE trials SET state=?, attempts=?, failures=?, exit_code=?, reason=?, hosts=?, "
        "started=?, attempt_started=?, ended=?, seconds=?, result=?, step=?, output_offset=?, "
        "error_offset=?, asked=? WHERE number=?");
    int i = 1;
    row.bind(i++, std::string(name_of(trial.state)));
    row.bind(i++, trial.attempts);
    row.bind(i++, trial.failures);
    row.bind(i++, trial.exit_code);
    row.bind(i++, trial.reason);
    row.bind(i++, trial.hosts);
    row.bind(i++, trial.started);
    row.bind(i++, trial.attempt_started);
    row.bind(i++, trial.ended);
    row.bind(i++, trial.seconds);
    trial.result ? row.bind(i, *trial.result) : row.bind(i);
    ++i;
    row.bind(i++, trial.step);
    row.bind(i++, trial.output_offset);
    row.bind(i++, trial.error_offset);
    row.bind(i++, std::string(name_of(trial.asked)));
    row.bind(i++, trial.number);
    row.exec();
  }

  void add(const TrialRecord& trial) {
    SQLite::Statement& row =
        statement(add_,
                  "INSERT INTO trials(number, block, position, repeat, state, parameters) "
                  "VALUES(?,?,?,?,?,?)");
    row.bind(1, trial.number);
    row.bind(2, trial.block);
    row.bind(3, trial.index);
    row.bind(4, trial.repeat);
    row.bind(5, std::string(name_of(trial.state)));
    row.bind(6, parameters_text(trial.parameters));
    row.exec();
  }

  void report(const TrialRecord& trial, const std::vector<Report>& reports) {
    SQLite::Transaction transaction(database_);
    for (const auto& [step, value] : reports) {
      SQLite::Statement& row =
          statement(report_, "INSERT OR REPLACE INTO metrics(trial, step, value) VALUES(?,?,?)");
      row.bind(1, trial.number);
      row.bind(2, step);
      row.bind(3, value);
      row.exec();
    }
    save(trial);
    transaction.commit();
  }

  void event(const std::string& what, std::optional<int> trial, const std::string& host) {
    SQLite::Statement& row =
        statement(event_, "INSERT INTO events(time, trial, host, what) VALUES(?,?,?,?)");
    row.bind(1, now());
    trial ? row.bind(2, *trial) : row.bind(2);
    host.empty() ? row.bind(3) : row.bind(3, host);
    row.bind(4, what);
    row.exec();
  }

  std::vector<Request> take_requests() {
    std::vector<Request> requests;
    SQLite::Statement& row = statement(requests_, "SELECT what, trial FROM requests ORDER BY id");
    while (row.executeStep()) {
      requests.push_back({row.getColumn(0).getString(), row.getColumn(1).getInt()});
    }
    row.reset();
    if (!requests.empty()) {
      database_.exec("DELETE FROM requests");
    }
    return requests;
  }

  SQLite::Database database_;

 private:
  using Kept = std::unique_ptr<SQLite::Statement>;
  Kept save_;
  Kept add_;
  Kept report_;
  Kept event_;
  Kept requests_;
};

SweepState::SweepState(const std::string& folder)
    : lock_(made_folder(folder)), impl_(on_file(sweep_file(folder), [&] {
        return std::make_unique<Impl>(sweep_file(folder));
      })) {}

SweepState::~SweepState() = default;

std::optional<std::string> SweepState::setting(const std::string& name) {
  return on_file(impl_->database_.getFilename(), [&]() -> std::optional<std::string> {
    SQLite::Statement row(impl_->database_, "SELECT value FROM settings WHERE name=?");
    row.bind(1, name);
    return row.executeStep() ? std::optional(row.getColumn(0).getString()) : std::nullopt;
  });
}

void SweepState::put_setting(const std::string& name, const std::string& value) {
  on_file(impl_->database_.getFilename(), [&] {
    SQLite::Statement row(impl_->database_,
                          "INSERT OR REPLACE INTO settings(name, value) VALUES(?,?)");
    row.bind(1, name);
    row.bind(2, value);
    row.exec();
  });
}

std::vector<TrialRecord> SweepState::trials() {
  return on_file(impl_->database_.getFilename(), [&] {
    std::vector<TrialRecord> trials;
    SQLite::Statement row(impl_->database_,
                          concat("SELECT ", kTrialColumns, " FROM trials ORDER BY number"));
    while (row.executeStep()) {
      trials.push_back(read_trial(row));
    }
    return trials;
  });
}

void SweepState::each_report(const std::function<void(int, std::int64_t, double)>& take) {
  on_file(impl_->database_.getFilename(), [&] {
    SQLite::Statement row(impl_->database_,
                          "SELECT trial, step, value FROM metrics ORDER BY trial, step");
    while (row.executeStep()) {
      take(row.getColumn(0).getInt(), row.getColumn(1).getInt64(), row.getColumn(2).getDouble());
    }
  });
}

void SweepState::add(const TrialRecord& trial) {
  on_file(impl_->database_.getFilename(), [&] { impl_->add(trial); });
}

void SweepState::save(const TrialRecord& trial) {
  on_file(impl_->database_.getFilename(), [&] { impl_->save(trial); });
}

void SweepState::report(const TrialRecord& trial, const std::vector<Report>& reports) {
  on_file(impl_->database_.getFilename(), [&] { impl_->report(trial, reports); });
}

void SweepState::host(const std::string& name, int slots, bool present, const std::string& why) {
  on_file(impl_->database_.getFilename(), [&] {
    SQLite::Statement row(
        impl_->database_,
        "INSERT OR REPLACE INTO hosts(name, slots, present, reason) VALUES(?,?,?,?)");
    row.bind(1, name);
    row.bind(2, slots);
    row.bind(3, present ? 1 : 0);
    row.bind(4, why);
    row.exec();
  });
}

void SweepState::event(const std::string& what, std::optional<int> trial, const std::string& host) {
  on_file(impl_->database_.getFilename(), [&] { impl_->event(what, trial, host); });
}

std::vector<Request> SweepState::take_requests() {
  return on_file(impl_->database_.getFilename(), [&] { return impl_->take_requests(); });
}

void post_request(const std::string& folder, const Request& request) {
  on_file(sweep_file(folder), [&] {
    SQLite::Database database(sweep_file(folder), SQLite::OPEN_READWRITE, kBusyMilliseconds);
    check_sweep_file(database, sweep_file(folder));
    SQLite::Statement row(database, "INSERT INTO requests(what, trial) VALUES(?,?)");
    row.bind(1, request.what);
    row.bind(2, request.trial);
    row.exec();
  });
}

}  // namespace bp::launcher::sweep
