// The part of config.json that belongs to a classifier's head.
#include "trainer/tasks/classify/class_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "tests/unit/model/refusal.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

EncoderSpec with(std::map<std::string, std::string> head) {
  EncoderSpec config;
  config.head = std::move(head);
  return config;
}

TEST(ClassConfig, SurvivesItsFile) {
  ClassConfig own{.labels = {"bad", "good \"quoted\""}, .dropout = 0.25};
  for (int i = 2; i < 12; ++i) own.labels.push_back(concat("label ", i));
  EncoderSpec config;
  config.head = head_of(own);
  const std::string text = config_json(config);
  EXPECT_EQ(class_config_of(parse_config(text)), own);
  EXPECT_LT(text.find("\"9\": \"label 9\""), text.find("\"10\": \"label 10\""));
}

TEST(ClassConfig, SeveralLabelsSurviveTheirFile) {
  const ClassConfig own{
      .labels = {"a", "b"}, .multi_label = true, .weights = {2, 0.5}, .threshold = 0.3};
  EncoderSpec config;
  config.head = head_of(own);
  const std::string text = config_json(config);
  EXPECT_EQ(class_config_of(parse_config(text)), own);
  EXPECT_THAT(text, testing::HasSubstr("\"problem_type\": \"multi_label_classification\""));
}

TEST(ClassConfig, LabelsComeFromEitherMap) {
  EXPECT_THAT(class_config_of({}).labels, IsEmpty());
  EXPECT_THAT(class_config_of(with({{"label2id", R"({"yes": 1, "no": 0})"}})).labels,
              ElementsAre("no", "yes"));
  EXPECT_THAT(class_config_of(with({{"id2label", R"({"1": "b", "0": "a"})"},
                                    {"label2id", R"({"LABEL_0": 0, "LABEL_1": 1})"}}))
                  .labels,
              ElementsAre("a", "b"));
}

// transformers leaves them out.
TEST(ClassConfig, TwoLabelsMayBeUnwritten) {
  EXPECT_THAT(
      class_config_of(with({{"architectures", R"(["BertForSequenceClassification"])"}})).labels,
      ElementsAre("LABEL_0", "LABEL_1"));
  EXPECT_THAT(class_config_of(with({{"architectures", R"(["BertModel"])"}})).labels, IsEmpty());
  EXPECT_THAT(class_config_of(with({{"architectures", "[1]"}})).labels, IsEmpty());
  EXPECT_THAT(class_config_of(with({{"architectures", "3"}})).labels, IsEmpty());
}

TEST(ClassConfig, InvalidValuesAreRefused) {
  const auto refusal = [](const std::string& key, const std::string& value) {
    return test::refusal([&] { (void)class_config_of(with({{key, value}})); });
  };
  EXPECT_EQ(refusal("classifier_dropout", "-1"),
            "classifier_dropout is -1; it must be at least 0 and below 1");
  EXPECT_EQ(refusal("classifier_dropout", "\"some\""),
            "'classifier_dropout' is 'some'; it must be a number");
  EXPECT_EQ(refusal("bp_threshold", "1.5"), "'bp_threshold' is 1.5; it must be 0 to 1");
  std::string labels;
  for (int i = 0; i <= 100'000; ++i) {
    labels += concat(i == 0 ? "" : ",", "\"", i, "\":\"a", i, "\"");
  }
  EXPECT_EQ(refusal("id2label", "{" + labels + "}"),
            "it has 100001 labels; the largest number that bp supports is 100000");
  EXPECT_EQ(refusal("id2label", R"(["a"])"), "id2label or label2id is not an object");
  EXPECT_EQ(refusal("id2label", R"({"1": "a"})"), "id2label has no label 0");
  EXPECT_EQ(refusal("id2label", R"({"0": 7})"), "id2label's 0 is 7, not a name");
  EXPECT_EQ(refusal("id2label", R"({"0": "a", "1": "a"})"), "two labels are called 'a'");
  EXPECT_EQ(refusal("label2id", R"({"a": 0, "b": 2})"),
            "label2id gives 'b' the number 2; each of 0 to 1 must occur once");
}

TEST(ClassConfig, KeepsTheWeightsOfLabels) {
  const ClassConfig own{.labels = {"a", "b"}, .weights = {0.625, 2.5}};
  EncoderSpec config;
  config.head = head_of(own);
  EXPECT_EQ(class_config_of(config), own);
  config.head["bp_class_weights"] = "[1]";
  EXPECT_THROW((void)class_config_of(config), Error);
  config.head["bp_class_weights"] = "[1, 0]";
  EXPECT_THROW((void)class_config_of(config), Error);
}

}  // namespace
}  // namespace bp::trainer
