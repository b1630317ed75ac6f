#include "trainer/store/store_writer.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "base/system/fd.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/whole_file.h"
#include "trainer/store/block_tables.h"
#include "trainer/store/sample_store.h"
#include "trainer/store/store_hash.h"
#include "trainer/store/store_tables.h"

namespace bp::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "stores hold little-endian tokens");

// SQLite counts the transactions in the header of the file, in two places. A power cut may leave a
// count that belongs to no commit, and the bytes of a store must not depend on that. See
// https://www.sqlite.org/fileformat.html, 1.3.7 and 1.3.20.
void set_transaction_count(const std::string& path) {
  constexpr std::array<char, 4> kOne = {0, 0, 0, 1};  // big-endian
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  for (const off_t place : {24, 92}) {
    if (!file || ::pwrite(file.get(), kOne.data(), kOne.size(), place) != ssize_t{kOne.size()}) {
      throw Error(ErrorCode::io, concat("cannot write ", path, ": ", error_text(errno)));
    }
  }
}

}  // namespace

class StoreWriter::Impl {
 public:
  explicit Impl(std::string path) : path_(std::move(path)) {}

  void create(const StoreSettings& settings) {
    settings_ = settings;
    writing([&] {
      open(SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      database_->exec("BEGIN");
      make_tables(*database_, settings_.schema);
      put_settings(*database_, settings_);
      hash_.add_settings(settings_);
      commit();
      prepare_inserts();
    });
  }

  void reopen() {
    try {
      open(SQLite::OPEN_READWRITE);
      read_back();
      prepare_inserts();
    } catch (const SQLite::Exception& error) {
      throw StoreError(StoreError::Kind::replaceable, concat("it is damaged: ", error.what()));
    }
  }

  void add(StoreBlock& block) {
    writing([&] {
      database_->exec("BEGIN");
      insert(block);
      commit();
    });
  }

  void finish() {
    writing([&] {
      database_->exec("BEGIN");
      insert(block_);
      database_->exec(concat("PRAGMA user_version=", kStoreVersion));
      commit();
      close();
    });
    set_transaction_count(path_);
    sync_file(path_);
    keep_ = true;
  }

  void leave() {
    close();
    keep_ = true;
  }

  ~Impl() {
    close();
    if (!keep_) {
      ::unlink(path_.c_str());
      ::unlink((path_ + "-journal").c_str());
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  template <class Action>
  void writing(const Action& action) {
    try {
      action();
    } catch (const SQLite::Exception& error) {
      throw Error(ErrorCode::io, concat("cannot write ", path_, ": ", error.what()));
    }
  }

  // Takes no locks: the file belongs to this process, and many network folders have none. After a
  // kill, the journal restores the last commit. Without syncs a power cut may damage the file; the
  // process that continues it would detect that by its hash.
  void open(int flags) {
    database_.emplace(path_, flags | SQLite::OPEN_NOMUTEX, 0, "unix-none");
    database_->exec("PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF");
  }

  void prepare_inserts() {
    shown_.emplace(database_->getHandle(), sample_columns(settings_.schema));
    for (const Split split : kSplits) {
      insert_texts_.emplace_back(
          *database_, concat("INSERT INTO ", texts_table(split), " SELECT * FROM block_texts"));
      insert_samples_.emplace_back(
          *database_, concat("INSERT INTO ", samples_table(split), " SELECT * FROM block_samples"));
    }
  }

  void insert(StoreBlock& block) {
    block.number_samples(rows_.last_sample_id + 1);
    for (const Split split : kSplits) {
      const auto which = static_cast<std::size_t>(split);
      shown_->show_texts(block.text_rows(split));
      (void)insert_all(insert_texts_[which]);
      shown_->show_samples(block.sample_rows(split), rows_.samples[which]);
      rows_.samples[which] += insert_all(insert_samples_[which]);
      hash_.add_texts(split, block.text_rows(split));
      hash_.add_samples(split, block.sample_rows(split));
    }
    rows_.texts += block.size().texts();
    rows_.last_sample_id += block.samples();
  }

  // Returns the number of rows that the statement has inserted.
  static int insert_all(SQLite::Statement& insert) {
    const int rows = insert.exec();
    insert.reset();
    return rows;
  }

  void commit() {
    put_value(*database_, "texts", concat(rows_.texts));
    put_value(*database_, "identity", hash_.hex());
    database_->exec("COMMIT");
    committed_texts_ = rows_.texts;
  }

  void read_back() {
    const int version = database_->execAndGet("PRAGMA user_version").getInt();
    if (database_->execAndGet("PRAGMA application_id").getInt() != kStoreApplication ||
        version != -kStoreVersion) {
      throw SQLite::Exception("it is not an unfinished store of this version");
    }
    settings_ = get_settings(*database_);
    hash_.add_settings(settings_);
    rows_ = hash_rows(*database_, settings_.schema, hash_);
    committed_texts_ = rows_.texts;
    if (hash_.hex() != get_value(*database_, "identity") ||
        concat(rows_.texts) != get_value(*database_, "texts")) {
      throw SQLite::Exception("its content is not what was written");
    }
  }

  void close() {
    insert_samples_.clear();
    insert_texts_.clear();
    database_.reset();
    shown_.reset();
  }

  std::string path_;
  StoreSettings settings_;
  std::optional<BlockTables> shown_;
  std::optional<SQLite::Database> database_;
  std::vector<SQLite::Statement> insert_samples_;  // indexed by split
  std::vector<SQLite::Statement> insert_texts_;
  StoreRows rows_;
  std::int64_t committed_texts_ = 0;
  StoreBlock block_;  // of add_text() and add_sample()
  ContentHash hash_;
  bool keep_ = false;
};

StoreWriter::StoreWriter(const std::string& path, const StoreSettings& settings)
    : impl_(std::make_unique<Impl>(path)) {
  impl_->create(settings);
}
StoreWriter::StoreWriter(const std::string& path) : impl_(std::make_unique<Impl>(path)) {
  impl_->reopen();
}
StoreWriter::~StoreWriter() = default;

const StoreSettings& StoreWriter::settings() const { return impl_->settings_; }
std::int64_t StoreWriter::texts() const {
  return impl_->rows_.texts + impl_->block_.size().texts();
}
std::int64_t StoreWriter::committed_texts() const { return impl_->committed_texts_; }

void StoreWriter::add(StoreBlock& block) { impl_->add(block); }

void StoreWriter::add_text(Split split, std::int64_t text_id, std::string_view text) {
  StoreBlock& block = impl_->block_;
  if (block.size().full()) {
    add(block);
    block.clear();
  }
  block.add_text(split, text_id, text);
}
void StoreWriter::add_sample(Split split,
                             std::int64_t text_id,
                             std::span<const std::int32_t> token_ids,
                             std::span<const ArrayView> arrays) {
  impl_->block_.add_sample(split, text_id, token_ids, arrays);
}
void StoreWriter::finish() { impl_->finish(); }
void StoreWriter::leave() { impl_->leave(); }

}  // namespace bp::trainer
