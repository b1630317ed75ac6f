#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "bp/error.h"
#include "tests/support/classify_data.h"
#include "tests/support/scratch.h"
#include "trainer/store/sample_store.h"
#include "trainer/store/store_writer.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Throws;
using testing::ThrowsMessage;
using Ids = std::vector<std::int32_t>;

StoreSettings settings() {
  return {.task = "classify",
          .schema = label_schema(),
          .names = {"bad", "good"},
          .vocabulary = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "fine"},
          .lower_case = false,
          .max_length = 16,
          .fingerprint = {{"max length", "16"}, {"case", "kept"}},
          .source_rows = {2, 1}};
}

void write_store(const std::string& path, const Ids& last, const StoreSettings& with = settings()) {
  StoreWriter writer(path, with);
  writer.add_text(Split::train, 1, "fine");
  add_labelled(writer, Split::train, 1, 1, Ids{2, 4, 3});
  writer.add_text(Split::test, 2, "so, \"so\"\n");
  add_labelled(writer, Split::test, 2, -1, Ids{2, 1, 1, 3});
  writer.add_text(Split::train, 3, "");
  add_labelled(writer, Split::train, 3, 0, last);
  writer.finish();
}

// Returns the error of opening a store and reading all of it.
std::string error_of(const std::string& path, StoreError::Kind kind) {
  try {
    SampleStore::open(path).verify();
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_EQ(error.exit_code(), kind == StoreError::Kind::missing ? 66 : 65);
    return error.what();
  }
  return "no error";
}

TEST(Store, ReturnsWhatWasWritten) {
  const Scratch scratch;
  const std::string path = scratch.path("odd %41 name?#.sqlite");
  write_store(path, {2, 3});
  const SampleStore store = SampleStore::open(path);
  EXPECT_EQ(store.size(Split::train), 2);
  EXPECT_EQ(store.size(Split::dev), 0);
  EXPECT_EQ(store.size(Split::test), 1);
  const Sample second = store.load(Split::train, 1);
  EXPECT_EQ(second.sample_id, 3);
  EXPECT_EQ(second.text_id, 3);
  EXPECT_EQ(label_of(second), 0);
  EXPECT_EQ(second.token_ids, (Ids{2, 3}));
  EXPECT_EQ(store.load(Split::train, 0).token_ids, (Ids{2, 4, 3}));
  EXPECT_EQ(label_of(store.load(Split::test, 0)), -1);
  EXPECT_THAT(store.lengths(Split::train), ElementsAre(3, 2));
  EXPECT_EQ(store.text(2, Split::test), "so, \"so\"\n");
  EXPECT_THROW((void)store.text(2, Split::train), StoreError);
  EXPECT_NO_THROW(store.verify());
  EXPECT_EQ(store.names(), settings().names);
  EXPECT_EQ(store.vocabulary(), settings().vocabulary);
  EXPECT_EQ(store.fingerprint(), settings().fingerprint);
  EXPECT_FALSE(store.lower_case());
  EXPECT_EQ(store.max_length(), 16);
  EXPECT_EQ(store.pad_id(), 0);
  EXPECT_THAT(scratch.names(), ElementsAre("odd %41 name?#.sqlite"))
      << "the store must leave no files beside it";
}

TEST(Store, IdentityDependsOnTheContent) {
  const Scratch scratch;
  const auto identity_with = [&](const Ids& last, const StoreSettings& with) {
    write_store(scratch.path("s"), last, with);
    std::string identity = SampleStore::open(scratch.path("s")).identity();
    std::filesystem::remove(scratch.path("s"));
    return identity;
  };
  const std::string first = identity_with({2, 3}, settings());
  EXPECT_EQ(first.size(), 32U);
  EXPECT_EQ(identity_with({2, 3}, settings()), first);
  EXPECT_NE(identity_with({2, 4, 3}, settings()), first);
  StoreSettings other = settings();
  other.names[0] = "worse";
  EXPECT_NE(identity_with({2, 3}, other), first);
  other = settings();
  other.vocabulary.emplace_back("more");
  EXPECT_NE(identity_with({2, 3}, other), first);
}

TEST(Store, KeepsTheTokenizerThatIsNotBerts) {
  const Scratch scratch;
  StoreSettings with = settings();
  with.vocabulary = {"<s>", "<pad>", "a", "b", "c"};
  with.tokenizer = "{\"model\": {}}";
  with.pad_id = 1;
  write_store(scratch.path("s"), {2, 3}, with);
  const SampleStore store = SampleStore::open(scratch.path("s"));
  EXPECT_EQ(store.tokenizer(), with.tokenizer);
  EXPECT_EQ(store.pad_id(), 1);
  EXPECT_NO_THROW(store.verify());
  with.tokenizer += " ";
  write_store(scratch.path("t"), {2, 3}, with);
  EXPECT_NE(SampleStore::open(scratch.path("t")).identity(), store.identity());
  with.pad_id = 5;
  write_store(scratch.path("u"), {2, 3}, with);
  EXPECT_THAT(error_of(scratch.path("u"), StoreError::Kind::replaceable),
              HasSubstr("its vocabulary has no token 5"));
}

TEST(Store, AnUnfinishedOneIsRemoved) {
  const Scratch scratch;
  {
    StoreWriter writer(scratch.path("s"), settings());
    add_labelled(writer, Split::train, 1, 0, Ids{2, 3});
  }
  EXPECT_THAT(scratch.names(), testing::IsEmpty());
}

TEST(Store, SaysWhyAFileIsNoStore) {
  using Kind = StoreError::Kind;
  const Scratch scratch;
  EXPECT_THAT(error_of(scratch.path("none"), Kind::missing), HasSubstr("none: No such file"));
  EXPECT_THAT(error_of(scratch.path(""), Kind::foreign), HasSubstr("is not a regular file"));
  EXPECT_THAT(error_of(scratch.write("words", std::string(5000, 'x')), Kind::foreign),
              HasSubstr("words is not an SQLite file"));
  EXPECT_THAT(error_of(scratch.write("empty", ""), Kind::replaceable), HasSubstr("empty is empty"));
  write_store(scratch.path("s"), {2, 3});
  std::string bytes = read_file(scratch.path("s"));
  bytes[63] = 9;  // the last byte of user_version
  EXPECT_THAT(error_of(scratch.write("later", bytes), Kind::replaceable),
              HasSubstr("later is of version 9, this program reads 2 and 3"));
  bytes[63] = 0;
  EXPECT_THAT(error_of(scratch.write("half", bytes), Kind::replaceable),
              HasSubstr("half is unfinished"));
  bytes[68] ^= 1;  // of application_id
  EXPECT_THAT(error_of(scratch.write("other", bytes), Kind::foreign),
              HasSubstr("not a store of bert_train"));
}

TEST(Store, AnArrayThatItsSchemaForbidsIsRefused) {
  const Scratch scratch;
  StoreSettings with = settings();
  with.schema = {{.name = "marks", .shape = Shape::per_token},
                 {.name = "words", .shape = Shape::ragged, .places = true}};
  const auto invalid = [&](const Ids& marks, const Ids& words) {
    StoreWriter writer(scratch.path("s"), with);
    writer.add_text(Split::train, 1, "fine");
    const ArrayView arrays[] = {std::span<const std::int32_t>(marks),
                                std::span<const std::int32_t>(words)};
    writer.add_sample(Split::train, 1, Ids{2, 4, 3}, arrays);
    writer.finish();
    const SampleStore store = SampleStore::open(scratch.path("s"));
    std::filesystem::remove(scratch.path("s"));
    try {
      (void)store.load(Split::train, 0);
      return false;
    } catch (const StoreError&) {
      return true;
    }
  };
  EXPECT_FALSE(invalid({0, 1, 0}, {1, 2}));
  EXPECT_FALSE(invalid({0, 1, 0}, {}));
  EXPECT_TRUE(invalid({0, 1}, {1})) << "one value for each token";
  EXPECT_TRUE(invalid({0, 1, 0}, {3})) << "a place behind the last token";
  EXPECT_TRUE(invalid({0, 1, 0}, {-1}));
}

// The hash cannot reveal a store that was forged together with its hash.
TEST(Store, AnInvalidSampleIsRefused) {
  const Scratch scratch;
  for (const char* change :
       {"tokens = x'0200000003'", "tokens = x''", "tokens = x'ffffffff'", "tokens = x'05000000'",
        "tokens = zeroblob(68)", "label = 2", "label = -2"}) {
    SCOPED_TRACE(change);
    write_store(scratch.path("s"), {2, 3});
    {
      SQLite::Database database(scratch.path("s"), SQLite::OPEN_READWRITE);
      database.exec(concat("UPDATE train_samples SET ", change, " WHERE position = 1"));
    }
    const SampleStore store = SampleStore::open(scratch.path("s"));
    EXPECT_NO_THROW((void)store.load(Split::train, 0));
    try {
      (void)store.load(Split::train, 1);
      ADD_FAILURE() << "load() took an invalid sample";
    } catch (const StoreError& error) {
      EXPECT_THAT(error.what(), HasSubstr("is damaged: sample 1 of train is invalid"));
    }
    std::filesystem::remove(scratch.path("s"));
  }
}

TEST(Store, AViewInPlaceOfATableIsRefused) {
  const Scratch scratch;
  write_store(scratch.path("s"), {2, 3});
  {
    SQLite::Database database(scratch.path("s"), SQLite::OPEN_READWRITE);
    database.exec("DROP TABLE test_texts; CREATE VIEW test_texts AS SELECT 1 text_id, 'a' text");
  }
  EXPECT_THAT(error_of(scratch.path("s"), StoreError::Kind::replaceable),
              HasSubstr("is damaged: it holds more than tables"));
}

TEST(Store, AMissingRowIsNamed) {
  const Scratch scratch;
  const auto without = [&](const char* row) {
    std::filesystem::remove(scratch.path("s"));
    write_store(scratch.path("s"), {2, 3});
    SQLite::Database database(scratch.path("s"), SQLite::OPEN_READWRITE);
    database.exec(concat("DELETE FROM ", row));
  };
  const auto damage = [&](const std::string& what) {
    return ThrowsMessage<StoreError>(
        testing::StartsWith(concat("the store ", scratch.path("s"), " is damaged: ", what)));
  };
  without("train_samples WHERE position = 0");
  const SampleStore store = SampleStore::open(scratch.path("s"));
  EXPECT_THAT([&] { (void)store.load(Split::train, 0); }, damage("sample 0 of train is missing"));
  EXPECT_THAT([&] { (void)store.lengths(Split::train); }, damage("samples of train are missing"));
  EXPECT_THAT([&] { store.verify(); }, damage("sample 0 of train is missing"));
  EXPECT_EQ(store.load(Split::train, 1).text_id, 3) << "the other rows must be readable";
  without("vocabulary WHERE token = '[UNK]'");
  EXPECT_THAT([&] { (void)SampleStore::open(scratch.path("s")); },
              damage("its vocabulary has no [UNK]"));
}

// A store with a changed byte or without its end is refused, or still has all its content.
TEST(Store, DamageIsFoundAnywhere) {
  const Scratch scratch;
  write_store(scratch.path("s"), {2, 3});
  const std::string whole = read_file(scratch.path("s"));
  const std::string identity = SampleStore::open(scratch.path("s")).identity();
  int refused = 0;
  const auto try_bytes = [&](const std::string& bytes) {
    scratch.write("d", bytes);
    try {
      const SampleStore store = SampleStore::open(scratch.path("d"));
      store.verify();
      EXPECT_EQ(store.identity(), identity);
    } catch (const StoreError& error) {
      EXPECT_THAT(error.what(), HasSubstr(scratch.path("d")));
      EXPECT_EQ(error.exit_code(), 65);
      ++refused;
    }
  };
  constexpr std::size_t kPage = 4096;
  for (std::size_t at = 0; at < whole.size(); at += at < 100 || at % kPage < 40 ? 1 : 211) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x41);
    try_bytes(bytes);
  }
  EXPECT_GT(refused, 50);
  for (std::size_t size = 0; size < whole.size(); size += 509) {
    refused = 0;
    try_bytes(whole.substr(0, size));
    EXPECT_EQ(refused, 1) << size;
  }
}

// A `cp` over the file on another host may truncate a store that this process has opened.
TEST(Store, TruncationWhileItIsReadIsAnError) {
  const Scratch scratch;
  const std::string path = scratch.path("s");
  constexpr int kTexts = 5000;  // more than SQLite caches
  {
    StoreWriter writer(path, settings());
    for (int i = 1; i <= kTexts; ++i) {
      writer.add_text(Split::train, i, std::string(1000, 'x'));
      add_labelled(writer, Split::train, i, 1, Ids{2, 4, 3});
    }
    writer.finish();
  }
  const SampleStore store = SampleStore::open(path);
  EXPECT_EQ(store.text(kTexts, Split::train).size(), 1000U);
  std::filesystem::resize_file(path, 4096);
  EXPECT_THAT([&] { (void)store.load(Split::train, 0); },
              ThrowsMessage<StoreError>(HasSubstr("the store " + path + " is damaged: ")));
  EXPECT_THAT([&] { (void)store.text(1, Split::train); }, Throws<StoreError>());
  EXPECT_THAT([&] { (void)store.lengths(Split::train); }, Throws<StoreError>());
}

constexpr int kManyTexts = 5300;

void add_texts(StoreWriter& writer, int end) {
  for (auto i = static_cast<int>(writer.texts()); i < end; ++i) {
    const Split split = i % 5 == 0 ? Split::dev : Split::train;
    writer.add_text(split, i + 1, "fine");
    for (int fold = 0; fold <= i % 3; ++fold) {
      add_labelled(writer, split, i + 1, i % 2, Ids{2, fold + 1, 3});
    }
  }
}

// Leaves the file of a writer that was killed after it had added `texts` texts.
void leave_half(const std::string& path, int texts) {
  const pid_t child = ::fork();
  if (child == 0) {
    StoreWriter writer(path, settings());
    add_texts(writer, texts);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
}

TEST(Store, ContinuedAfterAKillItHasTheBytesOfAnUninterruptedOne) {
  const Scratch scratch;
  {
    StoreWriter writer(scratch.path("whole"), settings());
    add_texts(writer, kManyTexts);
    writer.finish();
  }
  for (const int killed_after : {0, 1, 999, 1000, 1001, 3500, kManyTexts}) {
    SCOPED_TRACE(killed_after);
    leave_half(scratch.path("half"), killed_after);
    EXPECT_THAT(error_of(scratch.path("half"), StoreError::Kind::replaceable),
                HasSubstr("unfinished"));
    {
      StoreWriter writer(scratch.path("half"));
      EXPECT_EQ(writer.texts(), std::max(0, killed_after - 1) / 1000 * 1000);
      EXPECT_EQ(writer.settings().vocabulary, settings().vocabulary);
      EXPECT_EQ(writer.settings().source_rows, settings().source_rows);
      add_texts(writer, kManyTexts);
      writer.finish();
    }
    EXPECT_EQ(read_file(scratch.path("half")) == read_file(scratch.path("whole")), true);
    EXPECT_THAT(scratch.names(), ElementsAre("half", "whole"));
    std::filesystem::remove(scratch.path("half"));
  }
}

TEST(Store, ADamagedPartIsNotContinued) {
  const Scratch scratch;
  leave_half(scratch.path("half"), 3500);
  std::string bytes = read_file(scratch.path("half"));
  const std::size_t token = bytes.find(std::string("\2\0\0\0\1\0\0\0\3\0\0\0", 12));
  ASSERT_NE(token, std::string::npos);
  bytes[token + 4] = 4;
  scratch.write("half", bytes);
  try {
    const StoreWriter writer(scratch.path("half"));
    FAIL();
  } catch (const StoreError& error) {
    EXPECT_THAT(error.what(), HasSubstr("it is damaged: its content is not what was written"));
  }
  EXPECT_THAT(scratch.names(), testing::IsEmpty());
}

TEST(Store, SaysWhereItCannotWrite) {
  try {
    const StoreWriter writer("/no/such/folder/s", settings());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_THAT(error.what(), HasSubstr("cannot write /no/such/folder/s: unable to open"));
  }
}

}  // namespace
}  // namespace bp::trainer
