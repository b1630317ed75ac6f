#include "trainer/tasks/classify/token_file.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/store/immutable_database.h"
#include "trainer/store/store_tables.h"

namespace bp::trainer {
namespace {

// A journal is the way back from a change that is not complete. SQLite ends a change by removing,
// emptying or zeroing it. The file of a write-ahead log holds changes that the main file lacks.
bool has_pending_change(const std::string& path) {
  return std::ranges::any_of(std::array{"-journal", "-wal"}, [&](const char* suffix) {
    char first = '\0';
    return std::ifstream(path + suffix, std::ios::binary).get(first) && first != '\0';
  });
}

constexpr std::array<std::pair<const char*, Split>, 3> kQueues{
    {{"TrainQueue", Split::train}, {"ValidateQueue", Split::dev}, {"TestQueue", Split::test}}};

class QueueReader {
 public:
  explicit QueueReader(const std::string& path) : path_(path), database_(open_token_file(path)) {}

  FileSplit run() {
    const bool has_one = std::ranges::any_of(
        kQueues, [&](const auto& queue) { return has_table(database_, queue.first); });
    if (!has_one) return {};
    read_ids();
    std::string problem;
    for (std::size_t i = 0; i < kQueues.size() && problem.empty(); ++i) {
      problem = read_queue(kQueues[i].first, kQueues[i].second);
    }
    const auto without =
        std::ranges::find_if(splits_, [](const auto& split) { return !split.has_value(); });
    if (problem.empty() && without != splits_.end()) {
      problem = concat("sample_id ", ids_[static_cast<std::size_t>(without - splits_.begin())],
                       " is in no queue");
    }
    if (!problem.empty()) {
      return {.remark = concat("the split of ", path_, " is not taken, because ", problem)};
    }
    FileSplit split{.remark = concat("its tables TrainQueue, ValidateQueue and TestQueue divide ",
                                     path_, "; --split divides it anew")};
    for (const std::optional<Split>& known : splits_) split.of_rows.push_back(*known);
    return split;
  }

 private:
  // An id that is not an integer, or comes again, is refused when the samples are read.
  void read_ids() {
    require_token_table(database_, path_, "Samples");
    read_token_table(path_, "Samples", [&] {
      SQLite::Statement select(database_, "SELECT sample_id FROM Samples ORDER BY sample_id");
      while (select.executeStep()) {
        const std::int64_t id = select.getColumn(0).getInt64();
        if (!ids_.empty() && id <= ids_.back()) break;
        ids_.push_back(id);
      }
    });
    splits_.resize(ids_.size());
  }

  // Returns why the queues are not a split; "" if this one may be a part of one.
  std::string read_queue(const std::string& table, Split split) {
    if (!has_table(database_, table)) return concat("it has no table ", table);
    std::string problem;
    read_token_table(path_, table, [&] {
      SQLite::Statement select(database_, concat("SELECT sample_id FROM ", table));
      while (problem.empty() && select.executeStep()) {
        const bool whole = select.getColumn(0).isInteger();
        const std::int64_t id = select.getColumn(0).getInt64();
        const auto found = std::ranges::lower_bound(ids_, id);
        const bool exists = found != ids_.end() && *found == id;
        const auto at = static_cast<std::size_t>(found - ids_.begin());
        if (!whole) {
          problem = concat("a sample_id of ", table, " is not an integer");
        } else if (!exists) {
          problem = concat(table, " has sample_id ", id, ", which Samples lacks");
        } else if (splits_[at]) {
          problem = concat("sample_id ", id, " of ", table, " is in the queues twice");
        } else {
          splits_[at] = split;
        }
      }
    });
    return problem;
  }

  std::string path_;
  SQLite::Database database_;
  std::vector<std::int64_t> ids_;             // of the samples, ascending
  std::vector<std::optional<Split>> splits_;  // of the ids
};

}  // namespace

bool is_token_file(const std::string& path) {
  const auto application = application_of(path);
  if (!application || *application == kStoreApplication) return false;
  try {
    SQLite::Database database = open_immutable(path);
    const char* const tables =
        "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND (name IN ('LabelEncodings', "
        "'TrainQueue', 'ValidateQueue', 'TestQueue') OR name = 'Samples' AND sql LIKE '%tok_ids%')";
    return database.execAndGet(tables).getInt() > 0;
  } catch (const SQLite::Exception&) {
    return false;
  }
}

SQLite::Database open_token_file(const std::string& path) {
  if (has_pending_change(path)) {
    throw InputError(65,
                     concat(path,
                            " is half-written: a file beside it has a change that is not "
                            "complete (-journal or -wal)"),
                     concat("let the program that writes it end; or complete the change in a copy "
                            "of both files: sqlite3 COPY 'PRAGMA integrity_check'"));
  }
  try {
    SQLite::Database database = open_immutable(path);
    database.exec("PRAGMA trusted_schema=OFF");
    return database;
  } catch (const SQLite::Exception& error) {
    refuse_token_file(path, concat(": ", error.what()));
  }
}

// A virtual table has no page. Views have another type; both could run any code.
bool has_table(SQLite::Database& database, const std::string& table) {
  SQLite::Statement find(
      database,
      "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name = ?");
  find.bind(1, table);
  return find.executeStep() && find.getColumn(0).getInt() == 1;
}

void refuse_token_file(const std::string& path, const std::string& what) {
  throw InputError(65, concat(path, what),
                   "make it again with the program that wrote it, or train on its CSV file");
}

void require_token_table(SQLite::Database& database,
                         const std::string& path,
                         const std::string& table) {
  read_token_table(path, table, [&] {
    if (!has_table(database, table)) refuse_token_file(path, concat(" has no table ", table));
  });
}

void read_token_table(const std::string& path,
                      const std::string& table,
                      const std::function<void()>& action) {
  try {
    action();
  } catch (const SQLite::Exception& error) {
    refuse_token_file(path, concat(", table ", table, ": ", error.what()));
  }
}

FileSplit split_of_token_file(const std::string& path) {
  FileSplit split;
  read_token_table(path, "sqlite_schema", [&] { split = QueueReader(path).run(); });
  return split;
}

}  // namespace bp::trainer
