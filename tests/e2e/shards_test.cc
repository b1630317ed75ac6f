// bert_train shards: a folder of shards that is complete or absent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/text.h"
#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class Shards : public test::FolderTest<> {
 protected:
  void SetUp() override {
    write_documents("runs.txt", 300);
    std::ofstream vocabulary(path("vocab.txt"));
    for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "one", "two",
                              "three", "four", "five", "six"}) {
      vocabulary << token << '\n';
    }
  }

  // Each document has four sentences of words that follow each other.
  void write_documents(const std::string& name, int documents) const {
    constexpr const char* kWords[] = {"one", "two", "three", "four", "five", "six"};
    std::ofstream out(path(name));
    for (int document = 0; document < documents; ++document) {
      for (int sentence = 0; sentence < 4; ++sentence) {
        for (int word = 0; word < 5; ++word) {
          out << kWords[(document + sentence * 5 + word) % 6] << (word == 4 ? ".\n" : " ");
        }
      }
      out << '\n';
    }
  }
  [[nodiscard]] std::string names() const { return in_folder("LC_ALL=C ls -d s* 2>&1").output; }
};

const std::string kShards = kBinDir + "/bert_train shards runs.txt --vocab vocab.txt --out s ";

// docs/acceptance.md, Tasks: `bert_train shards` makes shards once.
TEST_F(Shards, AreMadeOnce) {
  const Ended made = in_folder(concat(kShards, "--rows 2000 --copies 8 --max-length 24"));
  EXPECT_EQ(made.code, 0) << made.output;
  EXPECT_THAT(made.output,
              ContainsRegex("s: [0-9,]+ instances in [0-9]+ shards, of 300 documents with 1,200 "
                            "sentences and 7,200 tokens"));
  EXPECT_THAT(in_folder("ls s").output, HasSubstr("training_0000.hdf5\ntraining_0001.hdf5\n"));
  const Ended again = in_folder(kShards);
  EXPECT_EQ(again.code, 2);
  EXPECT_EQ(again.output, "bert_train: s exists\nhint: name another folder with --out\n");
}

// As in BERT's recipe, whose last steps have samples of 512 tokens.
// docs/acceptance.md, Tasks: Pre-training continues with longer shards.
TEST_F(Shards, ARunGoesOnWithLongerOnes) {
  ASSERT_EQ(in_folder(concat(kShards, "--max-length 20 --copies 2")).code, 0);
  ASSERT_EQ(in_folder(concat(kShards.substr(0, kShards.find("--out")),
                             "--max-length 40 --copies 2 --out s2"))
                .code,
            0);
  const std::string train =
      kBinDir + "/bert_train --task pretrain --next-sentence --vocab vocab.txt --steps 4 ";
  const Ended first = in_folder(concat(train, "s --run first --max-length 20"));
  EXPECT_EQ(first.code, 0) << first.output;
  const Ended second = in_folder(concat(train, "s2 --model first/model --run second"));
  EXPECT_EQ(second.code, 0) << second.output;
  EXPECT_THAT(second.output, ::testing::Not(HasSubstr("newly initialized")));
  EXPECT_THAT(second.output, HasSubstr("% of next sentences right"));
  const Ended too_long =
      in_folder(concat(train, "s2 --run third --store t.sqlite --max-length 20"));
  EXPECT_EQ(too_long.code, 65);
  EXPECT_THAT(too_long.output, HasSubstr("tokens, more than --max-length 20\nhint: give --max-le"));
}

// docs/acceptance.md, Tasks: Shards need the vocabulary of their ids.
TEST_F(Shards, NeedTheVocabularyOfTheirIds) {
  ASSERT_EQ(in_folder(kShards).code, 0);
  const Ended none = in_folder(kBinDir + "/bert_train s --task pretrain --run r");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(
      none.output,
      HasSubstr("bert_train: the vocabulary for s/training_0000.hdf5 is missing\nhint: name the "));
  const Ended other = in_folder(concat("head -n 8 vocab.txt > short.txt && ", kBinDir,
                                       "/bert_train s --task pretrain --run r --vocab short.txt"));
  EXPECT_EQ(other.code, 65);
  EXPECT_THAT(other.output, HasSubstr("but the vocabulary has 8 tokens\n"));
}

// docs/acceptance.md, Tasks: `bert_train shards` on a full disk leaves nothing behind.
TEST_F(Shards, AFullDiskLeavesNothingBehind) {
  write_documents("runs.txt", 30000);
  const Ended ended = in_folder(concat("ulimit -f 300 && ", kShards));
  EXPECT_EQ(ended.code, 70);
  EXPECT_THAT(ended.output, HasSubstr("File too large\nhint: free some space, or name another"));
  EXPECT_THAT(names(), HasSubstr("No such file"));
}

TEST_F(Shards, AStopLeavesNothingBehind) {
  write_documents("runs.txt", 100000);
  const Ended ended = in_folder(
      concat("{ ", kShards,
             " & } && p=$! && while ! ls -d s.part* >/dev/null 2>&1; do sleep 0.01; done; "
             "kill -TERM $p; wait $p"));
  EXPECT_EQ(ended.code, 75) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("stopped on request while making shards for s.part-"));
  EXPECT_THAT(names(), HasSubstr("No such file"));
}

TEST_F(Shards, WhatCannotBeMadeIsRefusedInOneLine) {
  const Ended vocabulary = in_folder(kBinDir + "/bert_train shards runs.txt --out s");
  EXPECT_EQ(vocabulary.code, 2);
  EXPECT_THAT(vocabulary.output, HasSubstr("bert_train: --vocab is missing\n"));
  std::ofstream(path("runs.txt")) << "one two\n\nthree four\n";
  const Ended pairs = in_folder(concat(kShards, "--max-length 5"));
  EXPECT_EQ(pairs.code, 0) << pairs.output;
  std::ofstream(path("runs.txt")) << "\n\n";
  const Ended none = in_folder(concat("rm -r s; ", kShards));
  EXPECT_EQ(none.code, 65);
  EXPECT_THAT(none.output, HasSubstr("bert_train: no document in runs.txt makes a pair\n"));
  const Ended missing =
      in_folder(kBinDir + "/bert_train shards none.txt --vocab vocab.txt --out s");
  EXPECT_EQ(missing.code, 66);
  EXPECT_THAT(names(), HasSubstr("No such file"));
}

}  // namespace
}  // namespace bp::trainer
