#include "trainer/data/store_writer.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <bit>
#include <cerrno>
#include <optional>

#include "bp/error.h"
#include "comm/base/fd.h"
#include "comm/base/text.h"
#include "trainer/data/hash.h"
#include "trainer/data/store_format.h"

namespace bp::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "stores hold little-endian tokens");

template <class Action>
void writing(const std::string& path, const Action& action) {
  try {
    action();
  } catch (const SQLite::Exception& error) {
    throw Error(ErrorCode::io, concat("cannot write ", path, ": ", error.what()));
  }
}

void sync_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) {
    throw Error(ErrorCode::io, concat("cannot write ", path, ": ", error_text(errno)));
  }
}

void make_tables(SQLite::Database& database) {
  database.exec(concat("PRAGMA application_id=", kStoreApplication));
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

// Row i of the table gets the number i and the name.
void put_names(SQLite::Database& database,
               const std::string& table,
               const std::vector<std::string>& names,
               Hash& hash) {
  SQLite::Statement insert(database, concat("INSERT INTO ", table, " VALUES(?, ?)"));
  std::int64_t number = 0;
  for (const std::string& name : names) {
    insert.bind(1, number++);
    insert.bindNoCopy(2, name);
    insert.exec();
    insert.reset();
    hash.add(name);
  }
}

void put_setting(SQLite::Database& database, const std::string& key, const std::string& value) {
  SQLite::Statement insert(database, "INSERT INTO settings VALUES(?, ?)");
  insert.bind(1, key);
  insert.bind(2, value);
  insert.exec();
}

}  // namespace

class StoreWriter::Impl {
 public:
  Impl(const std::string& path, const StoreSettings& settings) : path_(path) {
    writing(path_, [&] {
      database_.emplace(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      // No other process looks at the file before it is complete, so nothing need be undone.
      database_->exec("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
      make_tables(*database_);
      put_settings(settings);
      for (const Split split : kSplits) {
        samples_.emplace_back(
            *database_, concat("INSERT INTO ", samples_table(split), " VALUES(?, ?, ?, ?, ?)"));
        texts_.emplace_back(*database_,
                            concat("INSERT INTO ", texts_table(split), " VALUES(?, ?)"));
      }
    });
  }

  void add_text(Split split, std::int64_t text_id, std::string_view text) {
    writing(path_, [&] {
      SQLite::Statement& insert = texts_[static_cast<std::size_t>(split)];
      insert.bind(1, text_id);
      text_.assign(text);
      insert.bindNoCopy(2, text_);
      insert.exec();
      insert.reset();
    });
  }

  void add_sample(Split split,
                  std::int64_t text_id,
                  int label,
                  std::span<const std::int32_t> token_ids) {
    writing(path_, [&] {
      const auto which = static_cast<std::size_t>(split);
      SQLite::Statement& insert = samples_[which];
      insert.bind(1, positions_[which]++);
      insert.bind(2, ++sample_id_);
      insert.bind(3, text_id);
      insert.bind(4, label);
      insert.bindNoCopy(5, token_ids.data(), static_cast<int>(token_ids.size_bytes()));
      insert.exec();
      insert.reset();
      hash_.add_number(static_cast<std::int64_t>(which));
      hash_.add_number(text_id);
      hash_.add_number(label);
      hash_.add({reinterpret_cast<const char*>(token_ids.data()), token_ids.size_bytes()});
    });
  }

  void finish() {
    writing(path_, [&] {
      put_setting(*database_, "identity", hash_.hex());
      samples_.clear();
      texts_.clear();
      database_->exec(concat("PRAGMA user_version=", kStoreVersion, "; COMMIT"));
      database_.reset();
    });
    sync_file(path_);
    finished_ = true;
  }

  ~Impl() {
    samples_.clear();
    texts_.clear();
    database_.reset();
    if (!finished_) {
      ::unlink(path_.c_str());
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

 private:
  void put_settings(const StoreSettings& settings) {
    put_names(*database_, "labels", settings.labels, hash_);
    hash_.add_number(static_cast<std::int64_t>(settings.labels.size()));
    put_names(*database_, "vocabulary", settings.vocabulary, hash_);
    hash_.add_number(settings.lower_case ? 1 : 0);
    hash_.add_number(settings.max_length);
    put_setting(*database_, "lower_case", settings.lower_case ? "1" : "0");
    put_setting(*database_, "max_length", concat(settings.max_length));
    SQLite::Statement insert(*database_, "INSERT INTO fingerprint(key, value) VALUES(?, ?)");
    for (const auto& [key, value] : settings.fingerprint) {
      insert.bind(1, key);
      insert.bind(2, value);
      insert.exec();
      insert.reset();
    }
  }

  std::string path_;
  std::optional<SQLite::Database> database_;
  std::vector<SQLite::Statement> samples_;  // by split
  std::vector<SQLite::Statement> texts_;
  std::int64_t positions_[3] = {0, 0, 0};
  std::int64_t sample_id_ = 0;
  std::string text_;
  Hash hash_;
  bool finished_ = false;
};

StoreWriter::StoreWriter(const std::string& path, const StoreSettings& settings)
    : impl_(std::make_unique<Impl>(path, settings)) {}
StoreWriter::~StoreWriter() = default;

void StoreWriter::add_text(Split split, std::int64_t text_id, std::string_view text) {
  impl_->add_text(split, text_id, text);
}

void StoreWriter::add_sample(Split split,
                             std::int64_t text_id,
                             int label,
                             std::span<const std::int32_t> token_ids) {
  impl_->add_sample(split, text_id, label, token_ids);
}

void StoreWriter::finish() { impl_->finish(); }

}  // namespace bp::trainer
