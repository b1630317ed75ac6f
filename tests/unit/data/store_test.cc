#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bp/error.h"
#include "tests/unit/data/scratch.h"
#include "trainer/data/sample_store.h"
#include "trainer/data/store_writer.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

StoreSettings settings() {
  return {.labels = {"bad", "good"},
          .vocabulary = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "fine"},
          .lower_case = false,
          .max_length = 16,
          .fingerprint = {{"max length", "16"}, {"case", "kept"}}};
}

void write_store(const std::string& path, const Ids& last, const StoreSettings& with = settings()) {
  StoreWriter writer(path, with);
  writer.add_text(Split::train, 1, "fine");
  writer.add_sample(Split::train, 1, 1, Ids{2, 4, 3});
  writer.add_text(Split::test, 2, "so, \"so\"\n");
  writer.add_sample(Split::test, 2, -1, Ids{2, 1, 1, 3});
  writer.add_text(Split::train, 3, "");
  writer.add_sample(Split::train, 3, 0, last);
  writer.finish();
}

std::string error_of(const std::string& path, ErrorCode code = ErrorCode::invalid_argument) {
  try {
    (void)SampleStore::open(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

TEST(Store, GivesBackWhatWasPutIn) {
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
  EXPECT_EQ(second.label, 0);
  EXPECT_EQ(second.token_ids, (Ids{2, 3}));
  EXPECT_EQ(store.load(Split::train, 0).token_ids, (Ids{2, 4, 3}));
  EXPECT_EQ(store.load(Split::test, 0).label, -1);
  EXPECT_THAT(store.lengths(Split::train), ElementsAre(3, 2));
  EXPECT_EQ(store.text(2, Split::test), "so, \"so\"\n");
  EXPECT_THROW((void)store.text(2, Split::train), Error);
  EXPECT_EQ(store.labels(), settings().labels);
  EXPECT_EQ(store.vocabulary(), settings().vocabulary);
  EXPECT_EQ(store.fingerprint(), settings().fingerprint);
  EXPECT_FALSE(store.lower_case());
  EXPECT_EQ(store.max_length(), 16);
  EXPECT_EQ(store.pad_id(), 0);
  EXPECT_THAT(scratch.names(), ElementsAre("odd %41 name?#.sqlite")) << "nothing beside it";
}

TEST(Store, IdentityTellsContentsApart) {
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
  other.labels[0] = "worse";
  EXPECT_NE(identity_with({2, 3}, other), first);
  other = settings();
  other.vocabulary.emplace_back("more");
  EXPECT_NE(identity_with({2, 3}, other), first);
}

TEST(Store, AnUnfinishedOneIsRemoved) {
  const Scratch scratch;
  {
    StoreWriter writer(scratch.path("s"), settings());
    writer.add_sample(Split::train, 1, 0, Ids{2, 3});
  }
  EXPECT_THAT(scratch.names(), testing::IsEmpty());
}

TEST(Store, SaysWhyAFileIsNoStore) {
  const Scratch scratch;
  EXPECT_THAT(error_of(scratch.path("none"), ErrorCode::io), HasSubstr("none: No such file"));
  EXPECT_THAT(error_of(scratch.write("words", std::string(5000, 'x'))),
              HasSubstr("words is not an SQLite file"));
  EXPECT_THAT(error_of(scratch.write("empty", "")), HasSubstr("no store of bert_train"));
  write_store(scratch.path("s"), {2, 3});
  std::string bytes = read_file(scratch.path("s"));
  bytes[63] = 9;  // the last byte of user_version
  EXPECT_THAT(error_of(scratch.write("later", bytes)),
              HasSubstr("a store of version 9, this program reads 1"));
  bytes[63] = 0;
  EXPECT_THAT(error_of(scratch.write("half", bytes)), HasSubstr("unfinished"));
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
