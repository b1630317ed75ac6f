#include "trainer/store/sample_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>

#include <sqlite3.h>

#include "base/check.h"
#include "base/system/fd.h"
#include "base/text.h"
#include "trainer/common/text_list.h"
#include "trainer/store/immutable_database.h"
#include "trainer/store/store_hash.h"
#include "trainer/store/store_tables.h"

namespace bp::trainer {
namespace {

using Kind = StoreError::Kind;

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// SQLite would treat an empty file as an empty database.
void check_readable(const std::string& path) {
  // Without O_NONBLOCK, open() would wait for a process that writes to a named pipe.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    throw StoreError(Kind::missing,
                     concat("cannot open the store ", path, ": ", error_text(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw StoreError(Kind::foreign, concat(path, " is not a regular file, and so no store"));
  }
  if (status.st_size == 0) {
    throw StoreError(Kind::replaceable, concat("the store ", path, " is empty"));
  }
}

[[noreturn]] void refuse_damaged(const std::string& path, const std::string& reason) {
  throw StoreError(Kind::replaceable, concat("the store ", path, " is damaged: ", reason));
}

int pragma(SQLite::Database& database, const std::string& name) {
  return database.execAndGet("PRAGMA " + name).getInt();
}

void check_kind(SQLite::Database& database, const std::string& path) {
  int application = 0;
  try {
    application = pragma(database, "application_id");
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() != SQLITE_NOTADB) {
      throw;
    }
    throw StoreError(Kind::foreign, concat(path, " is not an SQLite file, and so no store"));
  }
  if (application != kStoreApplication) {
    throw StoreError(Kind::foreign,
                     concat(path, " is an SQLite file, but not a store of bert_train"));
  }
  const int version = pragma(database, "user_version");
  if (version <= 0) {
    throw StoreError(Kind::replaceable, concat("the store ", path, " is unfinished"));
  }
  if (version != kStoreVersion && version != kOlderStoreVersion) {
    throw StoreError(Kind::replaceable,
                     concat("the store ", path, " is of version ", version, ", this program reads ",
                            kOlderStoreVersion, " and ", kStoreVersion));
  }
}

// Returns no numbers for bytes that are none.
template <class Number>
std::vector<Number> numbers_in(const SQLite::Column& column) {
  const auto bytes = static_cast<std::size_t>(column.getBytes());
  std::vector<Number> numbers;
  if (bytes > 0 && bytes % sizeof(Number) == 0) {
    numbers.resize(bytes / sizeof(Number));
    std::memcpy(numbers.data(), column.getBlob(), bytes);
  }
  return numbers;
}

}  // namespace

const char* name_of(Split split) {
  constexpr const char* kNames[] = {"train", "dev", "test"};
  return kNames[static_cast<std::size_t>(split)];
}

class SampleStore::Impl {
 public:
  // A new store replaces this one by a rename and never writes into it.
  explicit Impl(const std::string& path) : path_(path), database_(open_immutable(path)) {
    check_kind(database_, path);
    check_schema();
    read_settings();
    for (const Split split : kSplits) {
      sizes_.push_back(database_
                           .execAndGet(concat("SELECT COALESCE(MAX(position) + 1, 0) FROM ",
                                              samples_table(split)))
                           .getInt64());
      samples_.emplace_back(
          database_,
          concat("SELECT ", list_of(sample_columns(settings_.schema), ", ", &SampleColumn::name),
                 " FROM ", samples_table(split), " WHERE position = ?"));
      texts_.emplace_back(database_,
                          concat("SELECT text FROM ", texts_table(split), " WHERE text_id = ?"));
    }
  }

  // Runs an action that reads by SQLite, and reports damage that it finds with the path.
  template <class Action>
  static auto reading(const std::string& path, const Action& action) {
    try {
      return action();
    } catch (const SQLite::Exception& error) {
      refuse_damaged(path, error.what());
    }
  }

  [[nodiscard]] std::int64_t size(Split split) const {
    const auto index = static_cast<std::size_t>(split);
    return std::min(sizes_[index], limits_[index]);
  }

  // Returns an integer of each sample.
  [[nodiscard]] std::vector<std::int64_t> column(const std::string& expression, Split split) {
    return reading(path_, [&] {
      std::vector<std::int64_t> all;
      SQLite::Statement select(database_, concat("SELECT ", expression, " FROM ",
                                                 samples_table(split), " ORDER BY position"));
      while (static_cast<std::int64_t>(all.size()) < size(split) && select.executeStep()) {
        all.push_back(select.getColumn(0).getInt64());
      }
      if (static_cast<std::int64_t>(all.size()) != size(split)) {
        throw SQLite::Exception(concat("samples of ", name_of(split), " are missing"));
      }
      return all;
    });
  }

  std::string path_;
  SQLite::Database database_;
  std::vector<SQLite::Statement> samples_;  // indexed by split
  std::vector<SQLite::Statement> texts_;
  std::vector<std::int64_t> sizes_;
  std::array<std::int64_t, 3> limits_ = {kNoLimit, kNoLimit, kNoLimit};
  StoreSettings settings_;
  std::string identity_;

  // Reads what follows the ids, in the order of sample_columns().
  void load_arrays(SQLite::Statement& row, Sample& sample) const {
    const SampleSchema& schema = settings_.schema;
    sample.arrays.resize(schema.size());
    int column = 2;
    for (std::size_t i = 0; i < schema.size(); ++i) {
      if (schema[i].shape != Shape::one) continue;
      const SQLite::Column value = row.getColumn(column++);
      if (schema[i].element == Element::integer) {
        sample.arrays[i].integers.assign(1, value.getInt64());
      } else {
        sample.arrays[i].reals.assign(1, value.getDouble());
      }
    }
    sample.token_ids = numbers_in<std::int32_t>(row.getColumn(column++));
    for (std::size_t i = 0; i < schema.size(); ++i) {
      if (schema[i].shape == Shape::one) continue;
      const SQLite::Column values = row.getColumn(column++);
      if (schema[i].element == Element::integer) {
        const auto integers = numbers_in<std::int32_t>(values);
        sample.arrays[i].integers.assign(integers.begin(), integers.end());
      } else {
        sample.arrays[i].reals = numbers_in<double>(values);
      }
    }
  }

  // A view or a trigger could run any SQL.
  void check_schema() {
    const int others =
        database_
            .execAndGet("SELECT COUNT(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index')")
            .getInt();
    if (others > 0) {
      throw SQLite::Exception("it holds more than tables");
    }
  }

  void read_settings() {
    settings_ = get_settings(database_);
    identity_ = get_value(database_, "identity");
  }

  [[nodiscard]] bool has_valid_arrays(const Sample& sample) const {
    const auto names = static_cast<std::int64_t>(settings_.names.size());
    const auto tokens = static_cast<std::int64_t>(sample.token_ids.size());
    for (std::size_t i = 0; i < settings_.schema.size(); ++i) {
      const ArrayField& field = settings_.schema[i];
      const ArrayValues& array = sample.arrays[i];
      const std::size_t size = array.integers.size() + array.reals.size();
      if (field.shape == Shape::per_token && size != sample.token_ids.size()) return false;
      const bool known = std::ranges::all_of(array.integers, [&](std::int64_t n) {
        return (!field.named || n == field.padding || (n >= 0 && n < names)) &&
               (!field.places || (n >= 0 && n < tokens));
      });
      if (!known) return false;
    }
    return true;
  }

  // Checks the numbers by which a model would index its tables.
  void check_sample(const Sample& sample, std::int64_t index, Split split) const {
    const auto words = static_cast<std::int64_t>(settings_.vocabulary.size());
    const auto& ids = sample.token_ids;
    const bool known =
        std::all_of(ids.begin(), ids.end(), [&](std::int32_t id) { return id >= 0 && id < words; });
    if (!known || ids.empty() || static_cast<int>(ids.size()) > settings_.max_length ||
        !has_valid_arrays(sample)) {
      throw SQLite::Exception(concat("sample ", index, " of ", name_of(split), " is invalid"));
    }
  }
};

SampleStore SampleStore::open(const std::string& path) {
  check_readable(path);
  return Impl::reading(path, [&] {
    SampleStore store;
    store.impl_ = std::make_unique<Impl>(path);
    return store;
  });
}

SampleStore::SampleStore() = default;
SampleStore::SampleStore(SampleStore&&) noexcept = default;
SampleStore& SampleStore::operator=(SampleStore&&) noexcept = default;
SampleStore::~SampleStore() = default;

void SampleStore::limit(Split split, std::int64_t most) {
  impl_->limits_[static_cast<std::size_t>(split)] = most;
}
std::int64_t SampleStore::size(Split split) const { return impl_->size(split); }

Sample SampleStore::load(Split split, std::int64_t index) const {
  BP_CHECK(index >= 0 && index < size(split), "a sample outside its split");
  return Impl::reading(impl_->path_, [&] {
    SQLite::Statement& select = impl_->samples_[static_cast<std::size_t>(split)];
    select.bind(1, index);
    if (!select.executeStep()) {
      select.reset();
      throw SQLite::Exception(concat("sample ", index, " of ", name_of(split), " is missing"));
    }
    Sample sample;
    sample.sample_id = select.getColumn(0).getInt64();
    sample.text_id = select.getColumn(1).getInt64();
    impl_->load_arrays(select, sample);
    select.reset();
    impl_->check_sample(sample, index, split);
    return sample;
  });
}

std::int64_t SampleStore::texts(Split split) const {
  return Impl::reading(impl_->path_, [&] {
    SQLite::Statement select(impl_->database_, concat("SELECT count(DISTINCT text_id) FROM ",
                                                      samples_table(split), " WHERE position < ?"));
    select.bind(1, size(split));
    return select.executeStep() ? select.getColumn(0).getInt64() : 0;
  });
}

std::vector<std::int32_t> SampleStore::lengths(Split split) const {
  const std::vector<std::int64_t> lengths = impl_->column("length(tokens) / 4", split);
  return {lengths.begin(), lengths.end()};
}

std::vector<std::int64_t> SampleStore::text_ids(Split split) const {
  return impl_->column("text_id", split);
}

std::vector<std::int64_t> SampleStore::integers(Split split, std::size_t array) const {
  const ArrayField& field = impl_->settings_.schema.at(array);
  BP_CHECK(field.shape == Shape::one && field.element == Element::integer, "an array of integers");
  std::vector<std::int64_t> integers = impl_->column(field.name, split);
  const auto names = static_cast<std::int64_t>(impl_->settings_.names.size());
  const bool are_known = std::ranges::all_of(
      integers, [&](std::int64_t number) { return !field.named || number < names; });
  if (!are_known) refuse_damaged(impl_->path_, "a sample is invalid");
  return integers;
}

std::string SampleStore::text(std::int64_t text_id, Split split) const {
  return Impl::reading(impl_->path_, [&] {
    SQLite::Statement& select = impl_->texts_[static_cast<std::size_t>(split)];
    select.bind(1, text_id);
    if (!select.executeStep()) {
      select.reset();
      throw SQLite::Exception(concat("text ", text_id, " of ", name_of(split), " is missing"));
    }
    std::string text = select.getColumn(0).getString();
    select.reset();
    return text;
  });
}

const std::string& SampleStore::task() const { return impl_->settings_.task; }
const SampleSchema& SampleStore::schema() const { return impl_->settings_.schema; }
const std::vector<std::string>& SampleStore::names() const { return impl_->settings_.names; }
const std::vector<std::string>& SampleStore::vocabulary() const {
  return impl_->settings_.vocabulary;
}
const std::string& SampleStore::tokenizer() const { return impl_->settings_.tokenizer; }
bool SampleStore::lower_case() const { return impl_->settings_.lower_case; }
int SampleStore::max_length() const { return impl_->settings_.max_length; }
std::int32_t SampleStore::pad_id() const { return impl_->settings_.pad_id; }
std::string SampleStore::identity() const { return impl_->identity_; }

std::vector<std::pair<std::string, std::string>> SampleStore::fingerprint() const {
  return impl_->settings_.fingerprint;
}

void SampleStore::verify() const {
  Impl::reading(impl_->path_, [&] {
    ContentHash hash;
    hash.add_settings(impl_->settings_);
    const StoreRows rows = hash_rows_in_parallel([&] { return open_immutable(impl_->path_); },
                                                 impl_->settings_.schema, hash);
    if (hash.hex() != impl_->identity_ ||
        concat(rows.texts) != get_value(impl_->database_, "texts")) {
      throw SQLite::Exception("its content is not what was written");
    }
  });
}

}  // namespace bp::trainer
