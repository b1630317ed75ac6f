#include "trainer/data/sample_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "bp/error.h"
#include "comm/base/check.h"
#include "comm/base/text.h"
#include "trainer/data/store_format.h"

namespace bp::trainer {
namespace {

// As an SQLite URI. immutable: no locks are taken and no files made beside it, so a store may lie
// on a network folder or a read-only one; a new store comes by rename, never by writing into this.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += c == '%' ? "%25" : c == '?' ? "%3F" : "%23";
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

void check_readable(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    throw Error(ErrorCode::io, concat("cannot open the store ", path, ": ", error_text(errno)));
  }
}

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw Error(ErrorCode::invalid_argument, concat(path, " ", reason));
}

int pragma(SQLite::Database& database, const std::string& name) {
  return database.execAndGet("PRAGMA " + name).getInt();
}

void check_kind(SQLite::Database& database, const std::string& path) {
  int application = 0;
  try {
    application = pragma(database, "application_id");
  } catch (const SQLite::Exception&) {
    refuse(path, "is not an SQLite file, and so no store");
  }
  if (application != kStoreApplication) {
    refuse(path, "is an SQLite file, but no store of bert_train");
  }
  const int version = pragma(database, "user_version");
  if (version == 0) {
    refuse(path, "is an unfinished store: prepare it again");
  }
  if (version != kStoreVersion) {
    refuse(path, concat("is a store of version ", version, ", this program reads ", kStoreVersion,
                        ": prepare it again"));
  }
}

std::vector<std::string> names(SQLite::Database& database, const std::string& query) {
  std::vector<std::string> names;
  SQLite::Statement select(database, query);
  while (select.executeStep()) {
    names.push_back(select.getColumn(0).getString());
  }
  return names;
}

}  // namespace

const char* name_of(Split split) {
  switch (split) {
    case Split::train:
      return "train";
    case Split::dev:
      return "dev";
    case Split::test:
      return "test";
  }
  return "?";
}

class SampleStore::Impl {
 public:
  explicit Impl(const std::string& path)
      : path_(path), database_(uri_of(path), SQLite::OPEN_READONLY | SQLite::OPEN_URI) {
    check_kind(database_, path);
    // All ranks of a host then share the pages.
    database_.exec("PRAGMA mmap_size=1099511627776");
    read_settings();
    for (const Split split : kSplits) {
      sizes_.push_back(database_
                           .execAndGet(concat("SELECT COALESCE(MAX(position) + 1, 0) FROM ",
                                              samples_table(split)))
                           .getInt64());
      samples_.emplace_back(database_, concat("SELECT sample_id, text_id, label, tokens FROM ",
                                              samples_table(split), " WHERE position = ?"));
      texts_.emplace_back(database_,
                          concat("SELECT text FROM ", texts_table(split), " WHERE text_id = ?"));
    }
  }

  Sample load(Split split, std::int64_t index) {
    SQLite::Statement& select = samples_[static_cast<std::size_t>(split)];
    select.bind(1, index);
    if (!select.executeStep()) {
      throw SQLite::Exception(concat("no sample ", index, " in split ", name_of(split)));
    }
    Sample sample;
    sample.sample_id = select.getColumn(0).getInt64();
    sample.text_id = select.getColumn(1).getInt64();
    sample.label = select.getColumn(2).getInt();
    const SQLite::Column tokens = select.getColumn(3);
    const auto bytes = static_cast<std::size_t>(tokens.getBytes());
    sample.token_ids.resize(bytes / sizeof(std::int32_t));
    if (bytes > 0) {
      std::memcpy(sample.token_ids.data(), tokens.getBlob(), bytes);
    }
    select.reset();
    return sample;
  }

  std::vector<std::int32_t> lengths(Split split) {
    std::vector<std::int32_t> lengths;
    SQLite::Statement select(database_, concat("SELECT length(tokens) / 4 FROM ",
                                               samples_table(split), " ORDER BY position"));
    while (select.executeStep()) {
      lengths.push_back(select.getColumn(0).getInt());
    }
    return lengths;
  }

  std::string text(std::int64_t text_id, Split split) {
    SQLite::Statement& select = texts_[static_cast<std::size_t>(split)];
    select.bind(1, text_id);
    if (!select.executeStep()) {
      select.reset();
      throw Error(ErrorCode::invalid_argument,
                  concat(path_, " has no text ", text_id, " in split ", name_of(split)));
    }
    std::string text = select.getColumn(0).getString();
    select.reset();
    return text;
  }

  // Runs what asks SQLite; damage found late is reported with the path.
  template <class Action>
  static auto reading(const std::string& path, const Action& action) {
    try {
      return action();
    } catch (const SQLite::Exception& error) {
      throw Error(ErrorCode::io, concat("cannot read the store ", path, ": ", error.what()));
    }
  }

  std::string path_;
  SQLite::Database database_;
  std::vector<SQLite::Statement> samples_;  // by split
  std::vector<SQLite::Statement> texts_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::string> labels_;
  std::vector<std::string> vocabulary_;
  bool lower_case_ = true;
  int max_length_ = 0;
  std::int32_t pad_id_ = 0;
  std::string identity_;

 private:
  std::string setting(const std::string& key) {
    return database_.execAndGet(concat("SELECT value FROM settings WHERE key = '", key, "'"))
        .getString();
  }

  void read_settings() {
    labels_ = names(database_, "SELECT name FROM labels ORDER BY label");
    vocabulary_ = names(database_, "SELECT token FROM vocabulary ORDER BY id");
    lower_case_ = setting("lower_case") == "1";
    max_length_ = std::stoi(setting("max_length"));
    identity_ = setting("identity");
    const auto pad = std::find(vocabulary_.begin(), vocabulary_.end(), "[PAD]");
    pad_id_ = static_cast<std::int32_t>(pad - vocabulary_.begin());
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

std::int64_t SampleStore::size(Split split) const {
  return impl_->sizes_[static_cast<std::size_t>(split)];
}

Sample SampleStore::load(Split split, std::int64_t index) const {
  BP_CHECK(index >= 0 && index < size(split), "a sample outside its split");
  return Impl::reading(impl_->path_, [&] { return impl_->load(split, index); });
}

std::vector<std::int32_t> SampleStore::lengths(Split split) const {
  return Impl::reading(impl_->path_, [&] { return impl_->lengths(split); });
}

std::string SampleStore::text(std::int64_t text_id, Split split) const {
  return Impl::reading(impl_->path_, [&] { return impl_->text(text_id, split); });
}

const std::vector<std::string>& SampleStore::labels() const { return impl_->labels_; }
const std::vector<std::string>& SampleStore::vocabulary() const { return impl_->vocabulary_; }
bool SampleStore::lower_case() const { return impl_->lower_case_; }
int SampleStore::max_length() const { return impl_->max_length_; }
std::int32_t SampleStore::pad_id() const { return impl_->pad_id_; }
std::string SampleStore::identity() const { return impl_->identity_; }

std::vector<std::pair<std::string, std::string>> SampleStore::fingerprint() const {
  return Impl::reading(impl_->path_, [&] {
    std::vector<std::pair<std::string, std::string>> entries;
    SQLite::Statement select(impl_->database_,
                             "SELECT key, value FROM fingerprint ORDER BY position");
    while (select.executeStep()) {
      entries.emplace_back(select.getColumn(0).getString(), select.getColumn(1).getString());
    }
    return entries;
  });
}

}  // namespace bp::trainer
