// Instances as the rows of a data file.
#include "trainer/tasks/pretrain/instance_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/input/row_reader.h"
#include "trainer/tasks/pretrain/instance.h"
#include "trainer/tasks/pretrain/shard_reader.h"
#include "trainer/tasks/pretrain/shard_writer.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::int32_t> kTokens = {2, 6, 7, 3, 8, 3};
const std::vector<std::int32_t> kPositions = {1, 4};
const std::vector<std::int32_t> kIds = {9, 5};

Instance instance_of(std::int32_t first_token) {
  static std::vector<std::int32_t> tokens;
  tokens = kTokens;
  tokens[1] = first_token;
  return {tokens, 4, NextSentence::random, kPositions, kIds};
}

std::string shard(const Scratch& scratch, const std::string& name, std::int32_t first_token) {
  const std::string path = scratch.path(name);
  ShardWriter writer(path, {.tokens = 8, .masked = 3});
  writer.add(instance_of(first_token));
  writer.keep();
  return path;
}

TEST(PackedInstances, AreUnpackedAsTheyWere) {
  std::vector<std::int32_t> numbers;
  append_packed(instance_of(6), numbers);
  std::vector<std::int32_t> read;
  read_numbers(field_of(numbers), read);
  const Instance instance = packed_at(read);
  EXPECT_THAT(instance.tokens, testing::ElementsAreArray(kTokens));
  EXPECT_EQ(instance.first, 4);
  EXPECT_EQ(instance.next, NextSentence::random);
  EXPECT_THAT(instance.positions, ElementsAre(1, 4));
  EXPECT_THAT(instance.ids, ElementsAre(9, 5));
  EXPECT_EQ(packed_size(instance), numbers.size());
  numbers.pop_back();
  EXPECT_ANY_THROW((void)packed_at(numbers));
}

struct Taken {
  void add(std::span<const std::int32_t> token_ids, std::span<const ArrayView> arrays) {
    tokens = token_ids.size();
    types.assign(std::get<2>(arrays[0]).begin(), std::get<2>(arrays[0]).end());
    next_sentence = std::get<0>(arrays[1]);
    masked = std::get<2>(arrays[2]).size();
  }
  std::size_t tokens = 0;
  std::vector<std::int32_t> types;
  std::int64_t next_sentence = 0;
  std::size_t masked = 0;
};

TEST(InstanceSamples, HaveTypesTheLabelAndTheMasks) {
  std::vector<std::int32_t> numbers;
  append_packed(instance_of(6), numbers);
  const std::string_view fields[] = {"a.hdf5, row 1", field_of(numbers)};
  Taken taken;
  const SampleSink sink = std::bind_front(&Taken::add, &taken);
  InstanceSamples({.next_sentence = true, .masks = true, .max_length = 6}).make(fields, sink);
  EXPECT_EQ(taken.tokens, 6U);
  EXPECT_THAT(taken.types, ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_EQ(taken.next_sentence, 1);
  EXPECT_EQ(taken.masked, 2U);
  expect_input_error(65, "an instance of 6 tokens, more than --max-length 5", "--max-length 6",
                     [&] {
                       InstanceSamples({true, true, 5}).make(fields, sink);
                     });
  Instance single = instance_of(6);
  single.next = NextSentence::none;
  numbers.clear();
  append_packed(single, numbers);
  const std::string_view one[] = {"a.hdf5, row 2", field_of(numbers)};
  expect_input_error(65, "an instance of one segment, where --next-sentence needs two",
                     "leave out --next-sentence", [&] {
                       InstanceSamples({true, true, 6}).make(one, sink);
                     });
}

TEST(ShardRowsOfFiles, AreInstancesWithTheirPlaces) {
  const Scratch scratch;
  const std::vector<std::string> files = {shard(scratch, "a.hdf5", 6), shard(scratch, "b.h5", 9)};
  std::vector<RowSequence::Open> open;
  for (const std::string& file : files) {
    open.emplace_back([&file] { return std::make_unique<ShardRows>(file, 10); });
  }
  RowSequence rows(std::move(open));
  std::vector<std::string> places;
  std::vector<std::int32_t> firsts;
  std::vector<std::int32_t> packed;
  while (rows.next()) {
    EXPECT_EQ(rows.fields()[0], rows.place());
    places.push_back(rows.place());
    read_numbers(rows.fields()[1], packed);
    firsts.push_back(packed_at(packed).tokens[1]);
    EXPECT_EQ(rows.number(), static_cast<std::int64_t>(places.size()));
  }
  EXPECT_THAT(places, ElementsAre("a.hdf5, row 1", "b.h5, row 1"));
  EXPECT_THAT(firsts, ElementsAre(6, 9));
}

// docs/acceptance.md, Tasks: Shards may be a file, a folder, or the beginning of names.
// docs/features.md, Input: HDF5 shards to pre-train on, by split, or only the first ones | `--task
// pretrain`, `--limit-files`
TEST(ShardFiles, AreThoseOfAFileAFolderOrTheBeginningOfNames) {
  const Scratch scratch;
  for (const char* name :
       {"wiki_training_1.hdf5", "wiki_training_0.hdf5", "wiki_test_0.h5", "a.txt"}) {
    (void)scratch.write(name, "");
  }
  const auto path = [&](const std::string& name) { return scratch.path(name); };
  EXPECT_THAT(shard_files(path("none.hdf5")), ElementsAre(path("none.hdf5")));
  EXPECT_THAT(shard_files(scratch.path()),
              ElementsAre(path("wiki_training_0.hdf5"), path("wiki_training_1.hdf5")));
  EXPECT_THAT(shard_files(path("wiki_test")), ElementsAre(path("wiki_test_0.h5")));
  EXPECT_THAT(shard_files(path("a.txt")), IsEmpty());
  EXPECT_THAT(shard_files(path("books")), IsEmpty());
}

}  // namespace
}  // namespace bp::trainer
