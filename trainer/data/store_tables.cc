#include "trainer/data/store_tables.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kMostNames = std::size_t{1} << 22;

// Inserts row i with the number i and the i-th name.
void put_names(SQLite::Database& database,
               const std::string& table,
               const std::vector<std::string>& names) {
  SQLite::Statement insert(database, concat("INSERT INTO ", table, " VALUES(?, ?)"));
  std::int64_t number = 0;
  for (const std::string& name : names) {
    insert.bind(1, number++);
    insert.bindNoCopy(2, name);
    insert.exec();
    insert.reset();
  }
}

std::vector<std::string> get_names(SQLite::Database& database, const std::string& query) {
  std::vector<std::string> names;
  SQLite::Statement select(database, query);
  while (select.executeStep()) {
    names.push_back(select.getColumn(0).getString());
    if (names.size() > kMostNames) {  // a damaged page that refers to itself would never end
      throw SQLite::Exception("too many names in it");
    }
  }
  return names;
}

std::int64_t whole_number(const std::string& text, const char* what) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < 0) {
    throw SQLite::Exception(concat("its ", what, " is '", text, "'"));
  }
  return number;
}

}  // namespace

void make_tables(SQLite::Database& database) {
  database.exec(concat("PRAGMA application_id=", kStoreApplication));
  database.exec(concat("PRAGMA user_version=", -kStoreVersion));
  database.exec(
      "CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT);"
      "CREATE TABLE fingerprint(position INTEGER PRIMARY KEY, key TEXT, value TEXT);"
      "CREATE TABLE labels(label INTEGER PRIMARY KEY, name TEXT);"
      "CREATE TABLE vocabulary(id INTEGER PRIMARY KEY, token TEXT);");
  for (const Split split : kSplits) {
    database.exec(concat("CREATE TABLE ", samples_table(split),
                         "(position INTEGER PRIMARY KEY, sample_id INTEGER, text_id INTEGER, "
                         "label INTEGER, tokens BLOB);"
                         "CREATE TABLE ",
                         texts_table(split), "(text_id INTEGER PRIMARY KEY, text TEXT);"));
  }
}

void put_settings(SQLite::Database& database, const StoreSettings& settings) {
  put_names(database, "labels", settings.labels);
  put_names(database, "vocabulary", settings.vocabulary);
  put_value(database, "lower_case", settings.lower_case ? "1" : "0");
  put_value(database, "max_length", concat(settings.max_length));
  put_value(database, "sources", concat(settings.source_rows.size()));
  for (std::size_t i = 0; i < settings.source_rows.size(); ++i) {
    put_value(database, concat("rows of source ", i), concat(settings.source_rows[i]));
  }
  SQLite::Statement insert(database, "INSERT INTO fingerprint(key, value) VALUES(?, ?)");
  for (const auto& [key, value] : settings.fingerprint) {
    insert.bind(1, key);
    insert.bind(2, value);
    insert.exec();
    insert.reset();
  }
}

StoreSettings get_settings(SQLite::Database& database) {
  constexpr std::int64_t kMostSources = 3;
  constexpr std::int64_t kLongest = 1 << 20;
  StoreSettings settings;
  settings.labels = get_names(database, "SELECT name FROM labels ORDER BY label");
  settings.vocabulary = get_names(database, "SELECT token FROM vocabulary ORDER BY id");
  for (const char* needed : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) {
    if (std::find(settings.vocabulary.begin(), settings.vocabulary.end(), needed) ==
        settings.vocabulary.end()) {
      throw SQLite::Exception(concat("its vocabulary has no ", needed));
    }
  }
  settings.lower_case = get_value(database, "lower_case") == "1";
  settings.max_length = static_cast<int>(
      std::min(whole_number(get_value(database, "max_length"), "max length"), kLongest));
  const std::int64_t sources =
      std::min(whole_number(get_value(database, "sources"), "number of sources"), kMostSources);
  for (std::int64_t i = 0; i < sources; ++i) {
    const std::string key = concat("rows of source ", i);
    settings.source_rows.push_back(whole_number(get_value(database, key), key.c_str()));
  }
  SQLite::Statement select(database, "SELECT key, value FROM fingerprint ORDER BY position");
  while (select.executeStep()) {
    if (settings.fingerprint.size() > kMostNames) {
      throw SQLite::Exception("too long a fingerprint in it");
    }
    settings.fingerprint.emplace_back(select.getColumn(0).getString(),
                                      select.getColumn(1).getString());
  }
  return settings;
}

void put_value(SQLite::Database& database, const std::string& key, const std::string& value) {
  SQLite::Statement insert(database, "INSERT OR REPLACE INTO settings VALUES(?, ?)");
  insert.bind(1, key);
  insert.bind(2, value);
  insert.exec();
}

std::string get_value(SQLite::Database& database, const std::string& key) {
  SQLite::Statement select(database, "SELECT value FROM settings WHERE key = ?");
  select.bind(1, key);
  return select.executeStep() ? select.getColumn(0).getString() : std::string();
}

}  // namespace bp::trainer
