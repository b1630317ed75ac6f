// The published files of SST-2 with BERT's vocabulary, whose numbers are known.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/unit/data/prepare_fixture.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;

class Sst2Files : public PrepareTest {
 protected:
  struct Facts {
    std::vector<std::int64_t> labels = {0, 0};  // texts with the label 0, 1
    std::int64_t pieces = 0;                    // without [CLS] and [SEP]
    std::int32_t longest = 0;
    std::int64_t samples = 0;
  };

  void SetUp() override {
    const char* const data = std::getenv("BP_TEST_DATA");
    if (data == nullptr) GTEST_SKIP() << "BP_TEST_DATA is not set";
    data_ = data;
  }

  // Returns the numbers of a file whose texts are folded into samples of at most `length` tokens.
  Facts facts(const std::string& name, int length) {
    PrepareOptions with = options(data_ + "/sst2/sentiment-" + name);
    with.task = classify({"--text", "1", "--label", "2"});
    with.vocabulary = data_ + "/bert-base-uncased/vocab.txt";
    with.store = scratch_.path(name + ".sqlite");
    with.max_length = length;
    with.split = {1, 0, 0};
    with.rebuild = true;
    const SampleStore store = SampleStore::open(run(with).store);
    EXPECT_EQ(store.vocabulary().size(), 30'522U);
    Facts facts;
    facts.samples = store.size(Split::train);
    for (const std::int32_t tokens : store.lengths(Split::train)) {
      facts.pieces += tokens - 2;
      facts.longest = std::max(facts.longest, tokens - 2);
    }
    for (const std::int64_t label : store.integers(Split::train, 0)) {
      ++facts.labels[static_cast<std::size_t>(label)];
    }
    return facts;
  }

  std::string data_;
};

// docs/acceptance.md, Data: The published files of SST-2 have the known rows, labels and pieces.
// docs/features.md, Input: TSV without a header | `--format tsv --header no`, or found by looking
TEST_F(Sst2Files, HaveTheKnownNumbers) {
  const Facts train = facts("train", 128);
  EXPECT_THAT(train.labels, ElementsAre(29'780, 37'569));
  EXPECT_EQ(train.pieces, 762'341);
  EXPECT_EQ(train.longest, 64);
  const Facts dev = facts("dev", 128);
  EXPECT_THAT(dev.labels, ElementsAre(428, 444));
  EXPECT_EQ(dev.pieces, 20'199);
  EXPECT_EQ(dev.longest, 53);
  const Facts test = facts("test", 128);
  EXPECT_THAT(test.labels, ElementsAre(912, 909));
  EXPECT_EQ(test.pieces, 41'623);
  EXPECT_EQ(test.longest, 62);
}

// docs/acceptance.md, Data: The published files of SST-2 fold into the known number of samples.
TEST_F(Sst2Files, FoldIntoTheKnownNumberOfSamples) {
  const auto samples = [this](int length) {
    return std::vector<std::int64_t>{facts("train", length).samples, facts("dev", length).samples,
                                     facts("test", length).samples};
  };
  EXPECT_THAT(samples(128), ElementsAre(67'349, 872, 1'821));
  EXPECT_THAT(samples(32), ElementsAre(71'062, 1'080, 2'245));
  EXPECT_THAT(samples(16), ElementsAre(91'554, 1'834, 3'791));
}

}  // namespace
}  // namespace bp::trainer
