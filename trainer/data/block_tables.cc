#include "trainer/data/block_tables.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <memory>

#include <sqlite3.h>

#include "trainer/data/store_block.h"

namespace bp::trainer {
namespace {

// The functions that SQLite calls for such a table (https://www.sqlite.org/vtab.html). SQLite
// knows the first member of each struct.
struct VirtualTable {
  sqlite3_vtab base{};
  const BlockTables::Table* content = nullptr;
};

struct Cursor {
  sqlite3_vtab_cursor base{};
  bool samples = false;
  bool at_end = false;
  std::string_view rest;  // the rows behind the current one
  std::int64_t position = 0;
  std::int64_t sample_id = 0;
  std::int64_t text_id = 0;
  std::int64_t label = 0;
  std::string_view bytes;  // the text or the token ids

  void read_row() {
    at_end = rest.empty();
    if (at_end) return;
    if (samples) sample_id = take_number(rest);
    text_id = take_number(rest);
    if (samples) label = take_number(rest);
    bytes = take_bytes(rest);
  }
};

Cursor& cursor_of(sqlite3_vtab_cursor* base) { return *reinterpret_cast<Cursor*>(base); }

int connect_table(
    sqlite3* database, void* content, int, const char* const*, sqlite3_vtab** result, char**) {
  auto table = std::make_unique<VirtualTable>();
  table->content = static_cast<const BlockTables::Table*>(content);
  const int status = sqlite3_declare_vtab(
      database, table->content->samples
                    ? "CREATE TABLE t(position INTEGER, sample_id INTEGER, text_id INTEGER, "
                      "label INTEGER, tokens BLOB)"
                    : "CREATE TABLE t(text_id INTEGER, text TEXT)");
  if (status == SQLITE_OK) *result = &table.release()->base;
  return status;
}

int disconnect_table(sqlite3_vtab* table) {
  const std::unique_ptr<VirtualTable> owner(reinterpret_cast<VirtualTable*>(table));
  return SQLITE_OK;
}

int choose_index(sqlite3_vtab*, sqlite3_index_info*) { return SQLITE_OK; }  // always reads all rows

int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** result) {
  *result = &std::make_unique<Cursor>().release()->base;
  return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* base) {
  const std::unique_ptr<Cursor> owner(&cursor_of(base));
  return SQLITE_OK;
}

int begin_rows(sqlite3_vtab_cursor* base, int, const char*, int, sqlite3_value**) {
  const auto& content = *reinterpret_cast<VirtualTable*>(base->pVtab)->content;
  Cursor& cursor = cursor_of(base);
  cursor.samples = content.samples;
  cursor.rest = content.rows;
  cursor.position = content.position;
  cursor.read_row();
  return SQLITE_OK;
}

int next_row(sqlite3_vtab_cursor* base) {
  Cursor& cursor = cursor_of(base);
  ++cursor.position;
  cursor.read_row();
  return SQLITE_OK;
}

int is_at_end(sqlite3_vtab_cursor* base) { return cursor_of(base).at_end ? 1 : 0; }

// SQLite copies the bytes before the row changes.
int give_text_column(sqlite3_vtab_cursor* base, sqlite3_context* to, int column) {
  const Cursor& row = cursor_of(base);
  if (column == 0) {
    sqlite3_result_int64(to, row.text_id);
  } else {
    sqlite3_result_text64(to, row.bytes.data(), row.bytes.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  return SQLITE_OK;
}

int give_sample_column(sqlite3_vtab_cursor* base, sqlite3_context* to, int column) {
  const Cursor& row = cursor_of(base);
  constexpr int kTokens = 4;
  if (column == kTokens) {
    sqlite3_result_blob64(to, row.bytes.data(), row.bytes.size(), SQLITE_STATIC);
  } else {
    const std::int64_t numbers[kTokens] = {row.position, row.sample_id, row.text_id, row.label};
    sqlite3_result_int64(to, numbers[column]);
  }
  return SQLITE_OK;
}

int give_row_number(sqlite3_vtab_cursor* base, sqlite3_int64* number) {
  *number = cursor_of(base).position;
  return SQLITE_OK;
}

using GiveColumn = int(sqlite3_vtab_cursor*, sqlite3_context*, int);

// Without xCreate, the table exists in each connection by its module's name.
sqlite3_module module_with(GiveColumn* give_column) {
  sqlite3_module module{};
  module.xConnect = connect_table;
  module.xBestIndex = choose_index;
  module.xDisconnect = disconnect_table;
  module.xOpen = open_cursor;
  module.xClose = close_cursor;
  module.xFilter = begin_rows;
  module.xNext = next_row;
  module.xEof = is_at_end;
  module.xColumn = give_column;
  module.xRowid = give_row_number;
  return module;
}

void add_module(sqlite3* database,
                const char* name,
                const sqlite3_module& module,
                BlockTables::Table& content) {
  const int status = sqlite3_create_module(database, name, &module, &content);
  if (status != SQLITE_OK) throw SQLite::Exception(database, status);
}

}  // namespace

BlockTables::BlockTables(sqlite3* database) {
  static const sqlite3_module kTexts = module_with(give_text_column);
  static const sqlite3_module kSamples = module_with(give_sample_column);
  add_module(database, "block_texts", kTexts, texts_);
  add_module(database, "block_samples", kSamples, samples_);
}

}  // namespace bp::trainer
