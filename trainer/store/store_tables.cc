#include "trainer/store/store_tables.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options/value_text.h"
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

constexpr std::pair<Element, const char*> kElements[] = {{Element::integer, "integer"},
                                                         {Element::real, "real"}};
constexpr std::pair<Shape, const char*> kShapes[] = {
    {Shape::one, "one"}, {Shape::per_token, "per token"}, {Shape::ragged, "ragged"}};

template <class Table, class Value>
const char* name_in(const Table& table, Value value) {
  return std::ranges::find(table, value, [](const auto& entry) { return entry.first; })->second;
}

template <class Table>
auto value_in(const Table& table, const std::string& name) {
  const auto found = std::ranges::find(
      table, name, [](const auto& entry) { return std::string_view(entry.second); });
  if (found == std::end(table)) throw SQLite::Exception(concat("its arrays are of '", name, "'"));
  return found->first;
}

void put_schema(SQLite::Database& database, const SampleSchema& schema) {
  SQLite::Statement insert(
      database,
      "INSERT INTO arrays(name, element, shape, padding, named, places) VALUES(?, ?, ?, ?, ?, ?)");
  for (const ArrayField& field : schema) {
    insert.bind(1, field.name);
    insert.bind(2, name_in(kElements, field.element));
    insert.bind(3, name_in(kShapes, field.shape));
    insert.bind(4, field.padding);
    insert.bind(5, field.named ? 1 : 0);
    insert.bind(6, field.places ? 1 : 0);
    insert.exec();
    insert.reset();
  }
}

// The names become part of SQL.
bool is_column_name(const std::string& name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz_";
  return !name.empty() && name.find_first_not_of(kAllowed) == std::string::npos;
}

SampleSchema get_schema(SQLite::Database& database) {
  constexpr std::size_t kMostArrays = 100;
  SampleSchema schema;
  SQLite::Statement select(
      database, "SELECT name, element, shape, padding, named, places FROM arrays ORDER BY number");
  while (select.executeStep()) {
    schema.push_back({.name = select.getColumn(0).getString(),
                      .element = value_in(kElements, select.getColumn(1).getString()),
                      .shape = value_in(kShapes, select.getColumn(2).getString()),
                      .padding = select.getColumn(3).getInt64(),
                      .named = select.getColumn(4).getInt() != 0,
                      .places = select.getColumn(5).getInt() != 0});
    if (!is_column_name(schema.back().name) || schema.size() > kMostArrays) {
      throw SQLite::Exception("its list of arrays is invalid");
    }
  }
  return schema;
}

std::int64_t whole_number(const std::string& text, const char* what) {
  const auto number = number_in<std::int64_t>(text);
  if (!number || *number < 0) throw SQLite::Exception(concat("its ", what, " is '", text, "'"));
  return *number;
}

// Sets the tokenizer, and checks what samples are padded with.
void get_tokenizer(SQLite::Database& database, StoreSettings& settings) {
  const std::vector<std::string>& words = settings.vocabulary;
  settings.tokenizer = get_value(database, "tokenizer");
  if (!settings.tokenizer.empty()) {
    const std::int64_t pad = whole_number(get_value(database, "pad_id"), "id of padding");
    if (std::cmp_greater_equal(pad, words.size())) {
      throw SQLite::Exception(concat("its vocabulary has no token ", pad));
    }
    settings.pad_id = static_cast<std::int32_t>(pad);
    return;
  }
  for (const char* needed : {"[UNK]", "[CLS]", "[SEP]", "[PAD]"}) {
    const auto found = std::ranges::find(words, needed);
    if (found == words.end()) throw SQLite::Exception(concat("its vocabulary has no ", needed));
    settings.pad_id = static_cast<std::int32_t>(found - words.begin());  // of the last, [PAD]
  }
}

}  // namespace

void make_tables(SQLite::Database& database, const SampleSchema& schema) {
  std::string columns = "position INTEGER PRIMARY KEY";
  for (const SampleColumn& column : sample_columns(schema)) {
    columns += concat(", ", column.name, ' ', column.sql_type());
  }
  database.exec(concat("PRAGMA application_id=", kStoreApplication));
  database.exec(concat("PRAGMA user_version=", -kStoreVersion));
  database.exec(
      "CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT);"
      "CREATE TABLE fingerprint(position INTEGER PRIMARY KEY, key TEXT, value TEXT);"
      "CREATE TABLE names(number INTEGER PRIMARY KEY, name TEXT);"
      "CREATE TABLE arrays(number INTEGER PRIMARY KEY, name TEXT, element TEXT, shape TEXT, "
      "padding INTEGER, named INTEGER, places INTEGER);"
      "CREATE TABLE vocabulary(id INTEGER PRIMARY KEY, token TEXT);");
  for (const Split split : kSplits) {
    database.exec(concat("CREATE TABLE ", samples_table(split), "(", columns, "); CREATE TABLE ",
                         texts_table(split), "(text_id INTEGER PRIMARY KEY, text TEXT);"));
  }
}

void put_settings(SQLite::Database& database, const StoreSettings& settings) {
  put_value(database, "task", settings.task);
  put_schema(database, settings.schema);
  put_names(database, "names", settings.names);
  put_names(database, "vocabulary", settings.vocabulary);
  if (!settings.tokenizer.empty()) {
    put_value(database, "tokenizer", settings.tokenizer);
    put_value(database, "pad_id", concat(settings.pad_id));
  }
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
  settings.version = std::abs(database.execAndGet("PRAGMA user_version").getInt());
  if (settings.version == kOlderStoreVersion) {
    settings.task = "classify";
    settings.schema = {{.name = "label", .padding = -1, .named = true}};
    settings.names = get_names(database, "SELECT name FROM labels ORDER BY label");
  } else {
    settings.task = get_value(database, "task");
    settings.schema = get_schema(database);
    settings.names = get_names(database, "SELECT name FROM names ORDER BY number");
  }
  settings.vocabulary = get_names(database, "SELECT token FROM vocabulary ORDER BY id");
  get_tokenizer(database, settings);
  settings.lower_case = get_value(database, "lower_case") == "1";
  settings.max_length = static_cast<int>(
      std::min(whole_number(get_value(database, "max_length"), "max length"), kLongest));
  const std::int64_t sources =
      std::min(whole_number(get_value(database, "sources"), "number of sources"), kMostSources);
  for (std::int64_t i = 0; i < sources; ++i) {
    const std::string key = concat("rows of source ", i);
    settings.source_rows.push_back(whole_number(get_value(database, key), key.c_str()));
  }
  if (settings.version == kOlderStoreVersion) {
    settings.fingerprint.emplace_back("task", settings.task);
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
