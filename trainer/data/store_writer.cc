#include "trainer/data/store_writer.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <unistd.h>

#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/data/store_error.h"
#include "trainer/data/store_tables.h"
#include "trainer/data/whole_file.h"

namespace bp::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "stores hold little-endian tokens");

// A commit takes less than a millisecond. A killed process loses what it has not committed.
constexpr std::int64_t kTextsBetweenCommits = 1000;
constexpr std::size_t kBytesBetweenCommits = std::size_t{4} << 20;

}  // namespace

class StoreWriter::Impl {
 public:
  explicit Impl(std::string path) : path_(std::move(path)) {}

  void create(const StoreSettings& settings) {
    settings_ = settings;
    writing([&] {
      open(SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      database_->exec("BEGIN");
      make_tables(*database_);
      put_settings(*database_, settings_);
      hash_.add_settings(settings_);
      commit();
      begin_inserts();
    });
  }

  void reopen() {
    try {
      open(SQLite::OPEN_READWRITE);
      read_back();
      begin_inserts();
    } catch (const SQLite::Exception& error) {
      throw StoreError(StoreError::Kind::replaceable, concat("it is damaged: ", error.what()));
    }
  }

  void add_text(Split split, std::int64_t text_id, std::string_view text) {
    writing([&] {
      if (texts_since_ >= kTextsBetweenCommits || bytes_since_ >= kBytesBetweenCommits) {
        commit();
        database_->exec("BEGIN");
      }
      SQLite::Statement& insert = insert_texts_[static_cast<std::size_t>(split)];
      insert.bind(1, text_id);
      text_.assign(text);
      insert.bindNoCopy(2, text_);
      insert.exec();
      insert.reset();
      hash_.add_text(split, text_id, text);
      ++rows_.texts;
      ++texts_since_;
      bytes_since_ += text.size();
    });
  }

  void add_sample(Split split,
                  std::int64_t text_id,
                  int label,
                  std::span<const std::int32_t> token_ids) {
    writing([&] {
      const auto which = static_cast<std::size_t>(split);
      SQLite::Statement& insert = insert_samples_[which];
      insert.bind(1, rows_.samples[which]++);
      insert.bind(2, ++rows_.last_sample_id);
      insert.bind(3, text_id);
      insert.bind(4, label);
      insert.bindNoCopy(5, token_ids.data(), static_cast<int>(token_ids.size_bytes()));
      insert.exec();
      insert.reset();
      hash_.add_sample(split,
                       {rows_.last_sample_id,
                        text_id,
                        label,
                        {reinterpret_cast<const char*>(token_ids.data()), token_ids.size_bytes()}});
    });
  }

  void finish() {
    writing([&] {
      database_->exec(concat("PRAGMA user_version=", kStoreVersion));
      commit();
      close();
    });
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

  [[nodiscard]] const StoreSettings& settings() const { return settings_; }
  [[nodiscard]] std::int64_t texts() const { return rows_.texts; }
  [[nodiscard]] std::int64_t committed_texts() const { return rows_.texts - texts_since_; }

 private:
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
    database_.emplace(path_, flags, 0, "unix-none");
    database_->exec("PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF");
  }

  void begin_inserts() {
    database_->exec("BEGIN");
    for (const Split split : kSplits) {
      insert_samples_.emplace_back(
          *database_, concat("INSERT INTO ", samples_table(split), " VALUES(?, ?, ?, ?, ?)"));
      insert_texts_.emplace_back(*database_,
                                 concat("INSERT INTO ", texts_table(split), " VALUES(?, ?)"));
    }
  }

  void commit() {
    put_value(*database_, "texts", concat(rows_.texts));
    put_value(*database_, "identity", hash_.hex());
    database_->exec("COMMIT");
    texts_since_ = 0;
    bytes_since_ = 0;
  }

  void read_back() {
    const int version = database_->execAndGet("PRAGMA user_version").getInt();
    if (database_->execAndGet("PRAGMA application_id").getInt() != kStoreApplication ||
        version != -kStoreVersion) {
      throw SQLite::Exception("it is not an unfinished store of this version");
    }
    settings_ = get_settings(*database_);
    hash_.add_settings(settings_);
    rows_ = hash_rows(*database_, hash_);
    if (hash_.hex() != get_value(*database_, "identity") ||
        concat(rows_.texts) != get_value(*database_, "texts")) {
      throw SQLite::Exception("its content is not what was written");
    }
  }

  void close() {
    insert_samples_.clear();
    insert_texts_.clear();
    database_.reset();
  }

  std::string path_;
  StoreSettings settings_;
  std::optional<SQLite::Database> database_;
  std::vector<SQLite::Statement> insert_samples_;  // indexed by split
  std::vector<SQLite::Statement> insert_texts_;
  StoreRows rows_;
  std::int64_t texts_since_ = 0;  // since the last commit
  std::size_t bytes_since_ = 0;
  std::string text_;
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

const StoreSettings& StoreWriter::settings() const { return impl_->settings(); }
std::int64_t StoreWriter::texts() const { return impl_->texts(); }
std::int64_t StoreWriter::committed_texts() const { return impl_->committed_texts(); }

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
void StoreWriter::leave() { impl_->leave(); }

}  // namespace bp::trainer
