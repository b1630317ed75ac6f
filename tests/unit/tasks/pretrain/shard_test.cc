// Checks shards that bp writes and reads itself. check_shards.py exchanges them with h5py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "tests/support/places.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/full_disk.h"
#include "tests/unit/data/input_refusal.h"
#include "tests/unit/model/refusal.h"
#include "tests/unit/tasks/pretrain/text_files.h"
#include "trainer/tasks/pretrain/hdf5.h"
#include "trainer/tasks/pretrain/shard_reader.h"
#include "trainer/tasks/pretrain/shard_writer.h"

namespace bp::trainer {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Shards : public TextFiles {
 protected:
  std::string path_ = path("a.hdf5");
};

TEST_F(Shards, HoldWhatWasWritten) {
  const std::vector<std::int32_t> tokens = {2, 7, 3, 8, 9, 3};
  const std::vector<std::int32_t> positions = {1, 4};
  const std::vector<std::int32_t> ids = {11, 12};
  {
    ShardWriter writer(path_, {.tokens = 8, .masked = 3});
    writer.add({tokens, 3, NextSentence::random, positions, ids});
    writer.add({tokens, 3, NextSentence::follows, positions, ids});
    writer.add({tokens, 6, NextSentence::none, {}, {}});
    EXPECT_EQ(writer.size(), 3);
    EXPECT_FALSE(std::filesystem::exists(path_));
    writer.keep();
  }
  ShardReader reader(path_, 13);
  EXPECT_EQ(reader.size(), 3);
  EXPECT_EQ(reader.widths().tokens, 8);
  EXPECT_EQ(reader.widths().masked, 3);
  for (const NextSentence next : {NextSentence::random, NextSentence::follows}) {
    ASSERT_TRUE(reader.next());
    const Instance instance = reader.instance();
    EXPECT_THAT(instance.tokens, ElementsAre(2, 7, 3, 8, 9, 3));
    EXPECT_EQ(instance.first, 3);
    EXPECT_EQ(instance.next, next);
    EXPECT_THAT(instance.positions, ElementsAre(1, 4));
    EXPECT_THAT(instance.ids, ElementsAre(11, 12));
  }
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.instance().first, 6);
  EXPECT_EQ(reader.instance().next, NextSentence::none);
  EXPECT_THAT(reader.instance().positions, IsEmpty());
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.next());
}

// The library divides by the sizes of chunks when it opens a data set.
TEST_F(Shards, OnWhichTheLibraryCrashesAreRefused) {
  constexpr std::size_t kSizeOfAChunk = 2802;
  std::string bytes = read_file(kSourceDir + "/tests/fuzz/corpus/shard/tiny");
  ASSERT_EQ(bytes.at(kSizeOfAChunk), 2);
  const std::string whole = write("whole.hdf5", bytes);
  EXPECT_NO_THROW(ShardReader(whole, 20));
  bytes[kSizeOfAChunk] = 0;
  const std::string broken = write("broken.hdf5", bytes);
  EXPECT_THAT(test::input_refusal([&] { ShardReader(broken, 20); }),
              HasSubstr("broken.hdf5: is broken: the HDF5 library crashes on it | "));
}

// docs/features.md, Input: HDF5 shards to pre-train on, by split, or only the first ones | `--task
// pretrain`, `--limit-files`
TEST_F(Shards, AreReadInBlocks) {
  constexpr int kRows = 20000;  // the reader's blocks have 8192 rows of this width
  {
    ShardWriter writer(path_, {.tokens = 128, .masked = 20});
    for (std::int32_t row = 0; row < kRows; ++row) {
      const std::vector<std::int32_t> tokens(static_cast<std::size_t>(1 + row % 128), row);
      writer.add({tokens,
                  std::ssize(tokens) == 1 ? 1 : 1 + row % (row % 128),
                  NextSentence::random,
                  {},
                  {}});
    }
    writer.keep();
  }
  ShardReader reader(path_, kRows);
  std::int32_t row = 0;
  for (; reader.next(); ++row) {
    ASSERT_EQ(std::ssize(reader.instance().tokens), 1 + row % 128);
    ASSERT_EQ(reader.instance().tokens.back(), row);
  }
  EXPECT_EQ(row, kRows);
}

TEST_F(Shards, WithoutKeepLeaveNothing) {
  {
    ShardWriter writer(path_, {.tokens = 8, .masked = 3});
    const std::vector<std::int32_t> tokens = {2, 7, 3};
    writer.add({tokens, 3, NextSentence::none, {}, {}});
    const std::vector<std::int32_t> long_one(9, 2);
    EXPECT_EQ(test::refusal([&] {
                writer.add({long_one, 9, NextSentence::none, {}, {}});
              }),
              "an instance of 9 tokens, 0 of them masked, in a shard of 8 and 3");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

TEST_F(Shards, OnAFullDiskAreRefusedAndLeaveNoPart) {
  const Scratch scratch;
  const std::string path = scratch.path("a.hdf5");
  const std::vector<std::int32_t> tokens = {2, 7, 3, 8, 9, 3};
  const auto write_rows = [&](int rows) {
    ShardWriter writer(path, {.tokens = 128, .masked = 20});
    for (int row = 0; row < rows; ++row) {
      writer.add({tokens, 3, NextSentence::random, {}, {}});
    }
    writer.keep();
  };
  for (const int rows : {1, 50000}) {
    EXPECT_THAT(error_on_full_disk(scratch, 10000, [&] { write_rows(rows); }),
                ContainsRegex("^cannot write .*/a\\.hdf5\\.part: File too large; about .* more are "
                              "needed, .* are free there$"));
    EXPECT_THAT(scratch.names(), IsEmpty());
  }
  write_rows(1);
  EXPECT_EQ(ShardReader(path, 10).size(), 1);
}

TEST_F(Shards, ThatAreMissingOrNoHdf5AreRefused) {
  EXPECT_THAT(test::input_refusal([&] { (void)ShardReader(path_, 10); }), HasSubstr("66: "));
  const std::string text = write("text", "hello");
  EXPECT_THAT(
      test::input_refusal([&] { (void)ShardReader(text, 10); }),
      HasSubstr("65: " + text + ": is not an HDF5 file, or is broken: file signature not found"));
}

TEST_F(Shards, ThatAreCutOffAreRefusedWithTheirSizes) {
  std::string bytes = read_file(kSourceDir + "/tests/fuzz/corpus/shard/tiny");
  const std::size_t whole = bytes.size();
  bytes.resize(whole / 2);
  const std::string cut = write("cut.hdf5", bytes);
  EXPECT_THAT(test::input_refusal([&] { ShardReader(cut, 20); }),
              HasSubstr(concat("is not an HDF5 file, or is broken: it is cut off, with ", whole / 2,
                               " of ", whole, " bytes")));
}

// Copies what it packs; h5py has such a filter, LZF, in its own library.
std::size_t copy_bytes(unsigned /*flags*/,
                       std::size_t /*count*/,
                       const unsigned* /*values*/,
                       std::size_t bytes,
                       std::size_t* /*room*/,
                       void** /*buffer*/) {
  return bytes;
}

TEST_F(Shards, OfAFilterThatTheLibraryLacksNameIt) {
  constexpr H5Z_filter_t kFilter = 300;
  const H5Z_class2_t filter{H5Z_CLASS_T_VERS, kFilter, 1, 1, "lzf", nullptr, nullptr, copy_bytes};
  {
    ShardWriter writer(path_, {.tokens = 8, .masked = 3});
    const std::vector<std::int32_t> tokens = {2, 7, 3};
    writer.add({tokens, 3, NextSentence::none, {}, {}});
    writer.keep();
  }
  ASSERT_GE(H5Zregister(&filter), 0);
  {
    const Hdf5Handle file(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    ASSERT_GE(H5Ldelete(file.get(), "input_ids", H5P_DEFAULT), 0);
    const hsize_t sizes[] = {1, 8};
    const Hdf5Handle space(H5Screate_simple(2, sizes, nullptr), H5Sclose);
    const Hdf5Handle options(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    ASSERT_GE(H5Pset_chunk(options.get(), 2, sizes), 0);
    ASSERT_GE(H5Pset_filter(options.get(), kFilter, H5Z_FLAG_MANDATORY, 0, nullptr), 0);
    const Hdf5Handle made(H5Dcreate2(file.get(), "input_ids", H5T_STD_I32LE, space.get(),
                                     H5P_DEFAULT, options.get(), H5P_DEFAULT),
                          H5Dclose);
    const std::int32_t ids[8] = {2, 7, 3};
    ASSERT_GE(H5Dwrite(made.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, ids), 0);
  }
  ASSERT_GE(H5Zunregister(kFilter), 0);
  ShardReader reader(path_, 13);
  EXPECT_THAT(test::input_refusal([&] { (void)reader.next(); }),
              HasSubstr("'input_ids' cannot be read from row 1 on: it is packed by the filter lzf, "
                        "which this HDF5 library lacks; gzip is read"));
}

}  // namespace
}  // namespace bp::trainer
