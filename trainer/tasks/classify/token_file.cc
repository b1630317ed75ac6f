#include "trainer/tasks/classify/token_file.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/data/immutable_database.h"
#include "trainer/data/store_format.h"

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

}  // namespace bp::trainer
