// Where a model comes from, and what is said when it does not fit.
#include "trainer/train/model_source.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "comm/base/text.h"
#include "train_fixture.h"
#include "trainer/data/input_error.h"
#include "trainer/model/weights.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ModelSourceTest : public test::SmallData {
 protected:
  template <class Body>
  static std::string refusal(int code, const Body& body) {
    try {
      body();
    } catch (const InputError& error) {
      EXPECT_EQ(error.exit_code(), code) << error.what();
      return concat(error.what(), " | ", error.hint());
    }
    ADD_FAILURE() << "nothing was refused";
    return "";
  }
  std::string saved(const BertConfig& shape) const {
    const SampleStore store = SampleStore::open(store_path());
    save_model(Bert(shape, Precision::fp32, 3), {store.vocabulary(), true, 16}, path("model"));
    return path("model");
  }
  std::vector<std::string> said_;
  std::function<void(const std::string&)> say_ = [this](const std::string& s) {
    said_.push_back(s);
  };
};

TEST_F(ModelSourceTest, PresetsAndTheirMisspellings) {
  EXPECT_FALSE(find_model("mini").pretrained());
  EXPECT_EQ(refusal(2, [] { (void)find_model("tinny"); }),
            "--model: 'tinny' is neither a preset nor a folder | did you mean 'tiny'?");
  EXPECT_THAT(refusal(66, [&] { (void)find_model(path("")); }), HasSubstr("config.json"));
}

TEST_F(ModelSourceTest, FromScratchFitsTheVocabulary) {
  const SampleStore store = SampleStore::open(store_path());
  Options options;
  options.dropout = 0.3;
  const auto model = make_model(find_model("tiny"), options, store, say_);
  EXPECT_EQ(model->config().vocabulary, static_cast<int>(store.vocabulary().size()));
  EXPECT_EQ(model->config().hidden_dropout, 0.3);
  EXPECT_THAT(model->config().labels, ElementsAre("no", "yes"));
}

TEST_F(ModelSourceTest, WeightsAreTakenAndANewHeadIsSaid) {
  const SampleStore store = SampleStore::open(store_path());
  const ModelSource whole = find_model(saved(config(store, 0.1)));
  EXPECT_TRUE(whole.pretrained());
  const auto model = make_model(whole, Options{}, store, say_);
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_NO_THROW((void)load_model(whole));

  BertConfig other = config(store, 0.1);
  other.labels = {"a", "b", "c"};
  (void)make_model(find_model(saved(other)), Options{}, store, say_);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_THAT(said_[0], HasSubstr("made anew: classifier."));
}

TEST_F(ModelSourceTest, WhatDoesNotFitIsRefused) {
  const SampleStore store = SampleStore::open(store_path());
  BertConfig narrow = config(store, 0.1);
  narrow.vocabulary = 20;
  const ModelSource few_words = find_model(saved(narrow));
  EXPECT_THAT(refusal(65, [&] { (void)make_model(few_words, Options{}, store, say_); }),
              HasSubstr("only 20"));
  BertConfig brief = config(store, 0.1);
  brief.positions = 8;
  const ModelSource few_positions = find_model(saved(brief));
  EXPECT_THAT(refusal(2, [&] { (void)make_model(few_positions, Options{}, store, say_); }),
              HasSubstr("--max-length 8"));

  BertConfig deeper = config(store, 0.1);
  saved(deeper);
  deeper.layers = 3;
  std::ofstream(path("model/config.json")) << config_json(deeper);
  const ModelSource lacking = find_model(path("model"));
  EXPECT_THAT(refusal(65, [&] { (void)make_model(lacking, Options{}, store, say_); }),
              HasSubstr("lacks weights: bert.encoder.layer.2."));
  EXPECT_THAT(refusal(65, [&] { (void)load_model(lacking); }), HasSubstr("lacks weights"));

  std::ofstream(path("model/model.safetensors")) << "rubbish";
  EXPECT_THAT(refusal(65, [&] { (void)load_model(lacking); }), HasSubstr("no valid safetensors"));
  std::filesystem::remove(path("model/model.safetensors"));
  EXPECT_THAT(refusal(66, [&] { (void)load_model(find_model(path("model"))); }),
              HasSubstr("no model.safetensors"));
}

}  // namespace
}  // namespace bp::trainer
