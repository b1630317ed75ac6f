#include "trainer/runs/runs_database.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/look_up.h"
#include "trainer/common/numbers.h"
#include "trainer/report/csv_rows.h"

namespace bp::trainer {
namespace {

constexpr int kOfRuns = 0x62707230;  // PRAGMA application_id: "bpr0"
constexpr int kLayout = 1;           // PRAGMA user_version
constexpr int kBusy = 5;             // SQLITE_BUSY
constexpr const char* kTables = R"(
CREATE TABLE IF NOT EXISTS runs(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL, begun TEXT NOT NULL, ended TEXT NOT NULL,
  state TEXT NOT NULL, why TEXT NOT NULL, task TEXT NOT NULL, model TEXT NOT NULL,
  main_score TEXT NOT NULL, best_dev REAL, best_dev_step INTEGER, test REAL, steps INTEGER NOT NULL,
  epochs REAL, train_loss REAL, train_seconds REAL, samples_per_s REAL, ranks INTEGER NOT NULL,
  hosts INTEGER NOT NULL, version TEXT NOT NULL, machine TEXT NOT NULL, UNIQUE(path, begun));
CREATE TABLE IF NOT EXISTS settings(
  run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, key TEXT NOT NULL,
  value TEXT NOT NULL, origin TEXT NOT NULL, PRIMARY KEY(run, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS evaluations(
  run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, step INTEGER NOT NULL, epoch REAL,
  split TEXT NOT NULL, score TEXT NOT NULL, value REAL, PRIMARY KEY(run, step, split, score))
  WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS predictions(
  run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, sample_id INTEGER NOT NULL,
  text_id INTEGER NOT NULL, row TEXT NOT NULL, PRIMARY KEY(run, sample_id)) WITHOUT ROWID;
)";

int number_in(SQLite::Database& database, const char* pragma) {
  return database.execAndGet(concat("PRAGMA ", pragma)).getInt();
}

// Throws Error (invalid_argument) for a database of another kind; an empty one is none.
void require_kind(SQLite::Database& database) {
  const int kind = number_in(database, "application_id");
  const int tables = database.execAndGet("SELECT COUNT(*) FROM sqlite_master").getInt();
  if (kind == 0 && tables == 0) return;
  if (kind != kOfRuns) throw Error(ErrorCode::invalid_argument, "it is another kind of database");
  const int layout = number_in(database, "user_version");
  if (layout != kLayout) {
    throw Error(ErrorCode::invalid_argument,
                concat("it has layout ", layout, ", and this bert_train has ", kLayout));
  }
}

// Binds the values from 1 on; a number that is not finite becomes NULL.
class Insert {
 public:
  Insert(SQLite::Database& database, const std::string& text) : statement_(database, text) {}

  Insert& operator<<(const std::string& text) {
    statement_.bind(++place_, text);
    return *this;
  }
  Insert& operator<<(std::int64_t number) {
    statement_.bind(++place_, number);
    return *this;
  }
  Insert& operator<<(double number) {
    ++place_;
    if (std::isfinite(number)) statement_.bind(place_, number);
    return *this;
  }
  void run() {
    statement_.exec();
    statement_.reset();
    statement_.clearBindings();
    place_ = 0;
  }

 private:
  SQLite::Statement statement_;
  int place_ = 0;
};

std::int64_t insert_run(SQLite::Database& database, const RunRecord& run) {
  const Session none;
  const Session& last = run.sessions.empty() ? none : run.sessions.back();
  const EvaluationRecord* const best = run.best_dev();
  const std::string& key = run.main_score.key;
  std::int64_t ranks = 0;
  for (const RunHost& host : last.hosts) ranks += host.ranks;
  const std::string path = std::filesystem::absolute(run.path).lexically_normal().string();
  Insert remove(database, "DELETE FROM runs WHERE path = ? AND begun = ?");
  (remove << path << run.begun()).run();
  Insert insert(database, "INSERT INTO runs VALUES(NULL,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  insert << path << run.begun() << last.ended << std::string(name_of(run.state)) << run.why;
  insert << run.task() << run.model() << key;
  insert << (best == nullptr ? std::nan("") : best->result.at(key))
         << (best == nullptr ? std::nan("") : static_cast<double>(best->step));
  insert << run.test(key) << run.steps() << run.epochs() << run.train_loss();
  insert << run.train_seconds() << run.samples_per_second() << ranks
         << static_cast<std::int64_t>(last.hosts.size()) << last.version << last.machine;
  insert.run();
  return database.getLastInsertRowid();
}

void insert_evaluations(SQLite::Database& database, std::int64_t id, const RunRecord& run) {
  // A run that was resumed may have evaluated a step twice.
  Insert insert(database, "INSERT OR REPLACE INTO evaluations VALUES(?,?,?,?,?,?)");
  const auto add = [&](std::int64_t step, double epoch, const std::string& split,
                       const EvaluationSummary& result) {
    for (const auto& [score, value] : result.scores) {
      (insert << id << step << epoch << split << score << value).run();
    }
  };
  for (const EvaluationRecord& record : run.metrics.evaluations) {
    add(record.step, record.epoch, record.split, record.result);
  }
  if (run.summary && run.summary->test) add(run.steps(), run.epochs(), "test", *run.summary->test);
}

void insert_predictions(SQLite::Database& database, std::int64_t id, const RunToStore& stored) {
  if (stored.columns.empty()) return;
  CsvRows rows(stored.run.path + "/predictions.csv");
  const PredictionLines lines(PredictionFormat::jsonl, stored.columns);
  Insert insert(database, "INSERT INTO predictions VALUES(?,?,?,?)");
  constexpr std::size_t kIds = 2;
  if (!rows.next()) return;  // the header
  while (rows.next()) {
    const std::vector<std::string>& fields = rows.fields();
    const std::optional<double> sample = number_of(fields.at(0));
    const std::optional<double> text = number_of(fields.at(1));
    if (!sample || !text) rows.refuse("it does not begin with two ids");
    const std::vector<std::string> own(fields.begin() + kIds, fields.end());
    const PredictionRow row{static_cast<std::int64_t>(*sample), static_cast<std::int64_t>(*text),
                            own};
    std::string json = lines.line(row);
    json.pop_back();  // the line feed
    (insert << id << row.sample_id << row.text_id << json).run();
  }
}

}  // namespace

void check_runs_database(const std::string& path) {
  try {
    if (!path_exists(path)) return;
    SQLite::Database database(path, SQLite::OPEN_READONLY, 1000);
    require_kind(database);
  } catch (const std::exception& error) {
    const auto* const failed = dynamic_cast<const SQLite::Exception*>(&error);
    if (failed != nullptr && failed->getErrorCode() == kBusy) return;  // another run ends
    throw InputError(2, concat("--runs-db: ", path, ": ", error.what()),
                     "name a file that bert_train made with --runs-db, or one that does not exist");
  }
}

void store_run(const std::string& path,
               const RunToStore& stored,
               std::chrono::milliseconds patience) {
  SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                            static_cast<int>(patience.count()));
  database.exec("PRAGMA foreign_keys = ON");
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  require_kind(database);
  database.exec(concat("PRAGMA application_id = ", kOfRuns));
  database.exec(concat("PRAGMA user_version = ", kLayout));
  database.exec(kTables);
  const std::int64_t id = insert_run(database, stored.run);
  Insert settings(database, "INSERT OR REPLACE INTO settings VALUES(?,?,?,?)");
  for (const Setting& setting : stored.run.settings) {
    (settings << id << setting.key << setting.value << setting.origin).run();
  }
  insert_evaluations(database, id, stored.run);
  insert_predictions(database, id, stored);
  transaction.commit();
}

}  // namespace bp::trainer
