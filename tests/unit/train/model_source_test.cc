// How the model of a run is found, and the errors if it does not fit the data.
#include "trainer/commands/model_source.h"

#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/input_error.h"
#include "base/text.h"
#include "tests/support/classify_data.h"
#include "train_fixture.h"
#include "trainer/model/families/family.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RunSettings classify_options() {
  RunSettings options;
  options.task = classify();
  return options;
}

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
    ADD_FAILURE() << "the body threw no InputError";
    return "";
  }
  std::string saved(const EncoderSpec& shape) const {
    const SampleStore store = SampleStore::open(store_path());
    save_model(Bert(shape, make_classifier_head, Precision::fp32, 3),
               tokenizer_files({store.vocabulary()}, {true, 16}), path("model"));
    return path("model");
  }
  std::vector<std::string> messages_;
  std::function<void(const std::string&)> log_ = [this](const std::string& s) {
    messages_.push_back(s);
  };
};

TEST_F(ModelSourceTest, PresetsAreFoundAndMisspellingsGetAHint) {
  EXPECT_FALSE(find_model("mini", *classify()).pretrained());
  EXPECT_EQ(refusal(2, [] { (void)find_model("tinny", *classify()); }),
            "--model: 'tinny' is neither a preset nor a folder | did you mean 'tiny'?");
  EXPECT_THAT(refusal(66, [&] { (void)find_model(path(""), *classify()); }),
              HasSubstr("config.json"));
}

TEST_F(ModelSourceTest, TheFolderOfARunHasTheModelInside) {
  const SampleStore store = SampleStore::open(store_path());
  (void)saved(config(store, 0.1));
  std::filesystem::create_directory(path("run"));
  std::filesystem::rename(path("model"), path("run/model"));
  EXPECT_EQ(refusal(2, [&] { (void)find_model(path("run"), *classify()); }),
            concat("--model: ", path("run"), " is the folder of a run | did you mean '",
                   path("run"), "/model'?"));
  EXPECT_TRUE(find_model(path("run/model"), *classify()).pretrained());
}

TEST_F(ModelSourceTest, FromScratchFitsTheVocabulary) {
  const SampleStore store = SampleStore::open(store_path());
  RunSettings options = classify_options();
  options.dropout = 0.3;
  const auto model = make_model(find_model("tiny", *classify()), options, store, log_);
  EXPECT_EQ(model->config().vocabulary, static_cast<int>(store.vocabulary().size()));
  EXPECT_EQ(model->config().hidden_dropout, 0.3);
  EXPECT_THAT(class_config_of(model->config()).labels, ElementsAre("no", "yes"));
}

// docs/features.md, Models and losses: Weights of Hugging Face, with a report of what was loaded |
// `--model DIR`
TEST_F(ModelSourceTest, WeightsAreLoadedAndANewHeadIsReported) {
  const SampleStore store = SampleStore::open(store_path());
  const ModelSource whole = find_model(saved(config(store, 0.1)), *classify());
  EXPECT_TRUE(whole.pretrained());
  const auto model = make_model(whole, classify_options(), store, log_);
  EXPECT_THAT(messages_, IsEmpty());
  EXPECT_NO_THROW((void)load_model(whole));

  EncoderSpec other = config(store, 0.1);
  other.head = head_of({{"a", "b", "c"}});
  (void)make_model(find_model(saved(other), *classify()), classify_options(), store, log_);
  EXPECT_THAT(messages_,
              ElementsAre("newly initialized: 2 weights: classifier.bias, classifier.weight (the "
                          "model's labels are not the data's)"));
}

// A head is of use only for the same labels.
TEST_F(ModelSourceTest, AHeadForOtherLabelsIsInitialized) {
  const SampleStore store = SampleStore::open(store_path());
  EncoderSpec other = config(store, 0.1);
  other.head = head_of({{"yes", "maybe"}});
  const auto model =
      make_model(find_model(saved(other), *classify()), classify_options(), store, log_);
  ASSERT_EQ(messages_.size(), 1U);
  EXPECT_THAT(class_config_of(model->config()).labels, ElementsAre("no", "yes"));
}

// Of the same labels in another order, each keeps its row of the weights.
TEST_F(ModelSourceTest, AHeadForLabelsInAnotherOrderIsMappedByName) {
  const SampleStore store = SampleStore::open(store_path());
  EncoderSpec other = config(store, 0.1);
  other.head = head_of({{"yes", "no"}});
  const std::string folder = saved(other);
  const auto model = make_model(find_model(folder, *classify()), classify_options(), store, log_);
  EXPECT_THAT(messages_, ElementsAre());
  EXPECT_THAT(class_config_of(model->config()).labels, ElementsAre("no", "yes"));
  const auto stored = load_model(find_model(folder, *classify()));
  const auto& after = model->parameters();
  int rows = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (!after[i].first.starts_with("classifier.")) continue;
    const at::Tensor& before = stored->parameters()[i].second;
    EXPECT_TRUE(after[i].second.select(0, 0).equal(before.select(0, 1)));
    EXPECT_TRUE(after[i].second.select(0, 1).equal(before.select(0, 0)));
    EXPECT_FALSE(before.select(0, 0).equal(before.select(0, 1)) && before.dim() > 1);
    ++rows;
  }
  EXPECT_EQ(rows, 2);
}

TEST_F(ModelSourceTest, AnEncoderAloneIsLoadedAndUnusedWeightsAreReported) {
  const SampleStore store = SampleStore::open(store_path());
  const EncoderSpec shape = config(store, 0.1);
  saved(shape);
  {
    const Bert model(shape, make_classifier_head, Precision::fp32, 3);
    std::vector<SafetensorsItem> items;
    const NamedTensors all = hugging_face_names(model.parameters());
    for (const auto& [name, values] : all) {
      if (name.find("pooler") != std::string::npos || name.starts_with("classifier")) continue;
      items.push_back({name.substr(5), "F32", values.sizes().vec(), values.const_data_ptr()});
    }
    const std::vector<std::int64_t> positions(16);
    const float one = 1;
    items.push_back({"embeddings.position_ids", "I64", {1, 16}, positions.data()});
    items.push_back({"cls.predictions.bias", "F32", {1}, &one});
    write_safetensors(path("model/model.safetensors"), items);
  }
  (void)make_model(find_model(path("model"), *classify()), classify_options(), store, log_);
  EXPECT_THAT(messages_, ElementsAre("newly initialized: 4 weights: bert.pooler.dense.bias, "
                                     "bert.pooler.dense.weight, classifier.bias, classifier.weight",
                                     concat("not used of ", path("model/model.safetensors"),
                                            ": 1 weight: cls.predictions.bias")));
  EXPECT_THAT(refusal(65, [&] { (void)load_model(find_model(path("model"), *classify())); }),
              HasSubstr("lacks 4 weights: bert.pooler.dense.bias"));
}

TEST_F(ModelSourceTest, TheFilesOfAFolderMustBelongTogether) {
  const SampleStore store = SampleStore::open(store_path());
  const std::string folder = saved(config(store, 0.1));
  EncoderSpec larger = config(store, 0.1);
  larger.vocabulary += 2000;
  std::ofstream(path("model/config.json")) << config_json(larger);
  EXPECT_THAT(
      refusal(65, [&] { (void)find_model(folder, *classify()); }),
      HasSubstr(concat("vocab.txt has ", store.vocabulary().size(), " tokens, but vocab_size in ",
                       folder, "/config.json is ", larger.vocabulary)));
  EncoderSpec wider = config(store, 0.1);
  wider.intermediate = 48;
  std::ofstream(path("model/config.json")) << config_json(wider);
  EXPECT_THAT(
      refusal(65, [&] { (void)load_model(find_model(folder, *classify())); }),
      HasSubstr("has other shapes than config.json says in 6 weights: "
                "bert.encoder.layer.0.intermediate.dense.bias: [32] in the file, [48] here"));
  std::ofstream(path("model/config.json")) << config_json(config(store, 0.1));
  std::ofstream(path("model/tokenizer_config.json")) << R"({"do_lower_case": false})";
  EXPECT_THAT(
      refusal(65, [&] { check_samples(store, find_model(folder, *classify()), *classify()); }),
      HasSubstr("the data was prepared in lower case"));
  std::ofstream(path("model/tokenizer_config.json")) << R"({"model_max_length": 9})";
  EXPECT_THAT(
      refusal(2, [&] { check_samples(store, find_model(folder, *classify()), *classify()); }),
      HasSubstr("takes 9 | choose --max-length 9 or less"));
  std::ofstream(path("model/tokenizer_config.json")) << "{";
  EXPECT_THAT(refusal(65, [&] { (void)find_model(folder, *classify()); }),
              HasSubstr("broken JSON"));
}

TEST_F(ModelSourceTest, TheFormOfTheLabelsMustBeTheModels) {
  const SampleStore store = SampleStore::open(store_path());
  const ModelSource source = find_model(saved(config(store, 0.1)), *classify());
  EXPECT_THAT(refusal(65, [&] { check_samples(store, source, *classify({"--multi-label"})); }),
              HasSubstr("the data was prepared with other options of --task classify: a sample has "
                        "one value of 'label', and the model expects any number of values"));
}

TEST_F(ModelSourceTest, TheVocabularyMustBeThatOfTheModel) {
  const SampleStore store = SampleStore::open(store_path());
  const std::string folder = saved(config(store, 0.1));
  std::vector<std::string> tokens = store.vocabulary();
  std::swap(tokens[tokens.size() - 1], tokens[tokens.size() - 2]);
  std::ofstream vocabulary(path("model/vocab.txt"));
  for (const std::string& token : tokens) vocabulary << token << '\n';
  vocabulary.close();
  EXPECT_THAT(
      refusal(65, [&] { check_samples(store, find_model(folder, *classify()), *classify()); }),
      HasSubstr("prepared with another vocabulary than"));

  std::filesystem::remove(path("model/vocab.txt"));
  const ModelSource without = find_model(folder, *classify());
  EXPECT_NO_THROW(check_samples(store, without, *classify()));
  JobData data;
  data.prepare.source = "data.csv";
  EXPECT_THAT(refusal(2, [&] { prepare_for(without, data); }),
              HasSubstr("no vocab.txt or tokenizer.json in"));
  data.prepare.vocabulary = "named.txt";
  EXPECT_NO_THROW(prepare_for(without, data));
  EXPECT_TRUE(data.prepare.lower_case);

  data.prepare.lower_case = false;  // --cased
  EXPECT_THAT(refusal(2, [&] { prepare_for(without, data); }),
              HasSubstr("was trained in lower case | leave out --cased"));
  EXPECT_NO_THROW(prepare_for(find_model("tiny", *classify()), data));
  EXPECT_FALSE(data.prepare.lower_case);
}

// PEFT's "all-linear" adapts the poolers of some families, which stand outside the encoder.
TEST_F(ModelSourceTest, AdaptersOfOtherProductsAreRefused) {
  const SampleStore store = SampleStore::open(store_path());
  const EncoderSpec shape = config(store, 0.1);
  const LoraConfig lora{.rank = 2, .modules_to_save = {"classifier"}, .base = saved(shape)};
  const Bert adapted(shape, make_classifier_head, Precision::fp32, 3, lora);
  const std::string folder = path("adapted");
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/adapter_config.json") << adapter_config_json(lora);
  save_weights(adapted, folder + "/adapter_model.safetensors");
  EXPECT_NO_THROW((void)load_model(find_model(folder, *classify())));

  std::vector<SafetensorsItem> items;
  const NamedTensors all = saved_tensors(adapted, adapted.parameters());
  for (const auto& [name, values] : all) {
    items.push_back({name, "F32", values.sizes().vec(), values.const_data_ptr()});
  }
  const float one = 1;
  items.push_back({"base_model.model.pooler.dense.lora_A.weight", "F32", {1, 1}, &one});
  write_safetensors(folder + "/adapter_model.safetensors", items);
  EXPECT_EQ(refusal(65, [&] { (void)load_model(find_model(folder, *classify())); }),
            folder +
                "/adapter_model.safetensors adapts what bp does not adapt: 1 weight: "
                "base_model.model.pooler.dense.lora_A.weight | train the adapters with other "
                "target_modules");
}

TEST_F(ModelSourceTest, UnreadableWeightsAreRefusedAndNotInitialized) {
  const SampleStore store = SampleStore::open(store_path());
  const std::string folder = saved(config(store, 0.1));
  std::filesystem::rename(path("model/model.safetensors"), path("model/tf_model.h5"));
  EXPECT_THAT(refusal(65, [&] { (void)find_model(folder, *classify()); }),
              HasSubstr("bp cannot read the weights of"));
}

TEST_F(ModelSourceTest, AModelThatDoesNotFitIsRefused) {
  const SampleStore store = SampleStore::open(store_path());
  EncoderSpec narrow = config(store, 0.1);
  narrow.vocabulary = 20;
  const std::string few_words = saved(narrow);
  EXPECT_THAT(refusal(65, [&] { (void)find_model(few_words, *classify()); }),
              HasSubstr("config.json is 20"));
  EncoderSpec brief = config(store, 0.1);
  brief.positions = 8;
  const ModelSource few_positions = find_model(saved(brief), *classify());
  EXPECT_THAT(refusal(2, [&] { (void)make_model(few_positions, classify_options(), store, log_); }),
              HasSubstr("--max-length 8"));

  EncoderSpec counting = roberta().usual;
  counting.vocabulary = static_cast<int>(store.vocabulary().size());
  counting.pad_id = store.pad_id() + 1;
  counting.head = head_of({store.names()}, counting);
  const ModelSource other_padding = find_model(saved(counting), *classify());
  EXPECT_THAT(
      refusal(65, [&] { (void)make_model(other_padding, classify_options(), store, log_); }),
      HasSubstr("says pad_token_id 1, from which the model counts positions"));

  EncoderSpec decoding = bart().usual;
  decoding.vocabulary = static_cast<int>(store.vocabulary().size());
  decoding.pad_id = store.pad_id();
  decoding.end_id = 1;
  decoding.head = head_of({store.names()}, decoding);
  const ModelSource other_end = find_model(saved(decoding), *classify());
  EXPECT_THAT(
      refusal(65, [&] { (void)make_model(other_end, classify_options(), store, log_); }),
      HasSubstr("end with the token 3, and " + path("model") + "/config.json says eos_token_id 1"));
  EXPECT_EQ(refusal(2, [&] { (void)find_model(path("model"), *make_input("tokens")); }),
            "--task tokens: bp has models of the family 'bart' only for labels and numbers of "
            "texts | choose --task classify or regress, or another model");

  EncoderSpec deeper = config(store, 0.1);
  saved(deeper);
  deeper.layers = 3;
  std::ofstream(path("model/config.json")) << config_json(deeper);
  const ModelSource lacking = find_model(path("model"), *classify());
  EXPECT_THAT(refusal(65, [&] { (void)make_model(lacking, classify_options(), store, log_); }),
              HasSubstr("lacks 16 weights: bert.encoder.layer.2."));
  EXPECT_THAT(refusal(65, [&] { (void)load_model(lacking); }), HasSubstr("lacks 16 weights"));

  EncoderSpec nameless = config(store, 0.1);
  saved(nameless);
  nameless.head.clear();
  std::ofstream(path("model/config.json")) << config_json(nameless);
  EXPECT_EQ(refusal(65, [&] { (void)load_model(find_model(path("model"), *classify())); }),
            path("model") +
                "/config.json names no labels (id2label) | only a model for "
                "classification can be scored");

  nameless.head = {{"id2label", R"({"1": "a"})"}};
  std::ofstream(path("model/config.json")) << config_json(nameless);
  EXPECT_EQ(refusal(65, [&] { (void)find_model(path("model"), *classify()); }),
            path("model") + "/config.json: id2label has no label 0 | ");
  nameless.head.clear();
  std::ofstream(path("model/config.json")) << config_json(nameless);

  std::ofstream(path("model/model.safetensors")) << "rubbish";
  EXPECT_THAT(refusal(65, [&] { (void)find_model(path("model"), *classify()); }),
              HasSubstr("not a valid safetensors"));
  EXPECT_THAT(refusal(65, [&] { (void)load_model(lacking); }),
              HasSubstr("not a valid safetensors"));
  std::filesystem::remove(path("model/model.safetensors"));
  EXPECT_THAT(refusal(66, [&] { (void)load_model(find_model(path("model"), *classify())); }),
              HasSubstr("no model.safetensors"));
}

}  // namespace
}  // namespace bp::trainer
