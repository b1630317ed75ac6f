#include "trainer/store/store_hash.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sqlite3.h>

#include "base/text.h"
#include "trainer/common/parallel.h"
#include "trainer/common/text_list.h"
#include "trainer/store/store_block.h"
#include "trainer/store/store_tables.h"

namespace bp::trainer {
namespace {

void add_names(Hash& hash, const std::vector<std::string>& names) {
  hash.add_number(static_cast<std::int64_t>(names.size()));
  for (const std::string& name : names) {
    hash.add(name);
  }
}

void add_schema(Hash& hash, const StoreSettings& settings) {
  hash.add(settings.task);
  hash.add_number(static_cast<std::int64_t>(settings.schema.size()));
  for (const ArrayField& field : settings.schema) {
    hash.add(field.name);
    hash.add_number(static_cast<std::int64_t>(field.element));
    hash.add_number(static_cast<std::int64_t>(field.shape));
    hash.add_number(field.padding);
    hash.add_number(field.named ? 1 : 0);
    hash.add_number(field.places ? 1 : 0);
  }
}

// A statement whose columns are read without a copy. SQLite::Column counts references, which takes
// longer than to read a number.
class Rows {
 public:
  Rows(SQLite::Database& database, const std::string& query) : database_(database.getHandle()) {
    check(sqlite3_prepare_v2(database_, query.c_str(), -1, &statement_, nullptr));
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows() { sqlite3_finalize(statement_); }

  bool next() {
    const int status = sqlite3_step(statement_);
    if (status != SQLITE_ROW && status != SQLITE_DONE) check(status);
    return status == SQLITE_ROW;
  }
  [[nodiscard]] std::int64_t number(int column) const {
    return sqlite3_column_int64(statement_, column);
  }
  [[nodiscard]] double real(int column) const { return sqlite3_column_double(statement_, column); }
  [[nodiscard]] std::string_view bytes(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  void check(int status) const {
    if (status != SQLITE_OK) throw SQLite::Exception(database_, status);
  }

  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
};

// Hashes pieces in few calls.
constexpr std::size_t kPiecesAtOnce = std::size_t{1} << 16;

void hash_texts(SQLite::Database& database, Split split, ContentHash& hash, StoreRows& rows) {
  Rows select(database,
              concat("SELECT text_id, text FROM ", texts_table(split), " ORDER BY text_id"));
  std::int64_t last = 0;
  std::string pieces;
  while (select.next()) {
    const std::int64_t text_id = select.number(0);
    if (text_id <= last) {
      throw SQLite::Exception(concat("the texts of ", name_of(split), " are out of order"));
    }
    put_number(pieces, text_id);
    put_bytes(pieces, select.bytes(1));
    if (pieces.size() > kPiecesAtOnce) {
      hash.add_texts(split, pieces);
      empty_for_reuse(pieces);
    }
    last = text_id;
    ++rows.texts;
  }
  hash.add_texts(split, pieces);
}

void put_column(const Rows& row, int column, SampleColumn::Kind kind, std::string& pieces) {
  switch (kind) {
    case SampleColumn::Kind::integer:
      put_number(pieces, row.number(column));
      break;
    case SampleColumn::Kind::real:
      put_number(pieces, row.real(column));
      break;
    case SampleColumn::Kind::bytes:
      put_bytes(pieces, row.bytes(column));
      break;
  }
}

void hash_samples(SQLite::Database& database,
                  Split split,
                  const std::vector<SampleColumn>& columns,
                  ContentHash& hash,
                  StoreRows& rows) {
  Rows select(database, concat("SELECT position, ", list_of(columns, ", ", &SampleColumn::name),
                               " FROM ", samples_table(split), " ORDER BY position"));
  std::int64_t& count = rows.samples[static_cast<std::size_t>(split)];
  std::string pieces;
  while (select.next()) {
    if (select.number(0) != count) {
      throw SQLite::Exception(concat("sample ", count, " of ", name_of(split), " is missing"));
    }
    int column = 1;
    for (const SampleColumn& each : columns) put_column(select, column++, each.kind, pieces);
    if (pieces.size() > kPiecesAtOnce) {
      hash.add_samples(split, pieces);
      empty_for_reuse(pieces);
    }
    rows.last_sample_id = std::max(rows.last_sample_id, select.number(1));
    ++count;
  }
  hash.add_samples(split, pieces);
}

// The tables of a store, in the order in which damage is reported; a job hashes one of them.
constexpr std::size_t kTables = 2 * std::size(kSplits);

StoreRows hash_table(SQLite::Database& database,
                     std::size_t table,
                     const SampleSchema& schema,
                     ContentHash& hash) {
  StoreRows rows;
  const Split split = kSplits[table / 2];
  if (table % 2 == 0) {
    hash_texts(database, split, hash, rows);
  } else {
    hash_samples(database, split, sample_columns(schema), hash, rows);
  }
  return rows;
}

void add(const StoreRows& part, StoreRows& rows) {
  for (std::size_t i = 0; i < rows.samples.size(); ++i) rows.samples[i] += part.samples[i];
  rows.texts += part.texts;
  rows.last_sample_id = std::max(rows.last_sample_id, part.last_sample_id);
}

}  // namespace

void ContentHash::add_settings(const StoreSettings& settings) {
  if (settings.version > kOlderStoreVersion) add_schema(settings_, settings);
  add_names(settings_, settings.names);
  add_names(settings_, settings.vocabulary);
  if (!settings.tokenizer.empty()) settings_.add(settings.tokenizer);
  settings_.add_number(settings.lower_case ? 1 : 0);
  settings_.add_number(settings.max_length);
}

void ContentHash::add_texts(Split split, std::string_view rows) {
  texts_[static_cast<std::size_t>(split)].add_pieces(rows);
}

void ContentHash::add_samples(Split split, std::string_view rows) {
  samples_[static_cast<std::size_t>(split)].add_pieces(rows);
}

std::string ContentHash::hex() const {
  Hash all;
  all.add(settings_.hex());
  for (const Split split : kSplits) {
    all.add(texts_[static_cast<std::size_t>(split)].hex());
    all.add(samples_[static_cast<std::size_t>(split)].hex());
  }
  return all.hex();
}

StoreRows hash_rows(SQLite::Database& database, const SampleSchema& schema, ContentHash& hash) {
  StoreRows rows;
  for (std::size_t table = 0; table < kTables; ++table) {
    add(hash_table(database, table, schema, hash), rows);
  }
  return rows;
}

// ContentHash has a state of its own for each table.
StoreRows hash_rows_in_parallel(const Connect& connect,
                                const SampleSchema& schema,
                                ContentHash& hash) {
  std::vector<StoreRows> parts(kTables);
  run_in_parallel(kTables, [&](std::size_t table) {
    SQLite::Database database = connect();
    parts[table] = hash_table(database, table, schema, hash);
  });
  StoreRows rows;
  for (const StoreRows& part : parts) add(part, rows);
  return rows;
}

}  // namespace bp::trainer
