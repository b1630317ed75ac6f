#include "trainer/store/block_tables.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <sqlite3.h>

#include "base/text.h"
#include "trainer/store/store_block.h"

namespace bp::trainer {
namespace {

// The functions that SQLite calls for such a table (https://www.sqlite.org/vtab.html). SQLite
// knows the first member of each struct.
struct VirtualTable {
  sqlite3_vtab base{};
  const BlockTables::Table* content = nullptr;
};

struct Cursor {
  struct Value {  // in the member for its column's kind
    std::int64_t integer = 0;
    double real = 0;
    std::string_view bytes;
  };
  sqlite3_vtab_cursor base{};
  const BlockTables::Table* content = nullptr;
  bool at_end = false;
  std::string_view rest;  // the rows behind the current one
  std::int64_t position = 0;
  std::vector<Value> values;

  void read_row() {
    at_end = rest.empty();
    if (at_end) return;
    for (std::size_t i = 0; i < content->columns.size(); ++i) {
      switch (content->columns[i].kind) {
        case SampleColumn::Kind::integer:
          values[i].integer = take_number(rest);
          break;
        case SampleColumn::Kind::real:
          values[i].real = take_number<double>(rest);
          break;
        case SampleColumn::Kind::bytes:
          values[i].bytes = take_bytes(rest);
          break;
      }
    }
  }
};

Cursor& cursor_of(sqlite3_vtab_cursor* base) { return *reinterpret_cast<Cursor*>(base); }

int connect_table(
    sqlite3* database, void* content, int, const char* const*, sqlite3_vtab** result, char**) {
  auto table = std::make_unique<VirtualTable>();
  table->content = static_cast<const BlockTables::Table*>(content);
  std::string columns = table->content->numbered ? "position INTEGER" : "";
  for (const SampleColumn& column : table->content->columns) {
    columns += concat(columns.empty() ? "" : ", ", column.name, ' ', column.sql_type());
  }
  const int status =
      sqlite3_declare_vtab(database, concat("CREATE TABLE t(", columns, ")").c_str());
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
  cursor.content = &content;
  cursor.values.resize(content.columns.size());
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

// SQLite copies the bytes of a text or an array before the row changes.
int give_column(sqlite3_vtab_cursor* base, sqlite3_context* to, int column) {
  const Cursor& row = cursor_of(base);
  const bool numbered = row.content->numbered;
  if (numbered && column == 0) {
    sqlite3_result_int64(to, row.position);
    return SQLITE_OK;
  }
  const auto which = static_cast<std::size_t>(column) - (numbered ? 1 : 0);
  const Cursor::Value& value = row.values[which];
  switch (row.content->columns[which].kind) {
    case SampleColumn::Kind::integer:
      sqlite3_result_int64(to, value.integer);
      break;
    case SampleColumn::Kind::real:
      sqlite3_result_double(to, value.real);
      break;
    case SampleColumn::Kind::bytes:
      if (numbered) {
        sqlite3_result_blob64(to, value.bytes.data(), value.bytes.size(), SQLITE_STATIC);
      } else {
        sqlite3_result_text64(to, value.bytes.data(), value.bytes.size(), SQLITE_STATIC,
                              SQLITE_UTF8);
      }
      break;
  }
  return SQLITE_OK;
}

int give_row_number(sqlite3_vtab_cursor* base, sqlite3_int64* number) {
  *number = cursor_of(base).position;
  return SQLITE_OK;
}

// Without xCreate, the table exists in each connection by its module's name.
const sqlite3_module kModule = [] {
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
}();

void add_table(sqlite3* database, const char* name, BlockTables::Table& content) {
  const int status = sqlite3_create_module(database, name, &kModule, &content);
  if (status != SQLITE_OK) throw SQLite::Exception(database, status);
}

}  // namespace

BlockTables::BlockTables(sqlite3* database, std::vector<SampleColumn> sample_columns)
    : texts_{.numbered = false, .columns = {{"text_id"}, {"text", SampleColumn::Kind::bytes}}},
      samples_{.numbered = true, .columns = std::move(sample_columns)} {
  add_table(database, "block_texts", texts_);
  add_table(database, "block_samples", samples_);
}

}  // namespace bp::trainer
