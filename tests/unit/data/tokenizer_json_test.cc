#include "trainer/text/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/refusal.h"
#include "tests/support/scratch.h"

namespace bp::trainer {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

// As transformers 5 saves it for a BERT in lower case.
Json bert() {
  return Json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id": 0, "content": "[PAD]", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 4, "content": "[MASK]", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                   "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {
      "type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
      "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
               {"Sequence": {"id": "B", "type_id": 1}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
      "special_tokens": {}},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100,
              "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "a": 6,
                        "##b": 5}}})");
}

Vocabulary read(const Json& json) { return Vocabulary::parse(json.dump(), "t.json"); }

TEST(TokenizerJson, GivesTheTokensInTheOrderOfTheirIds) {
  const Vocabulary vocabulary = read(bert());
  EXPECT_THAT(vocabulary.tokens,
              testing::ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "##b", "a"));
  EXPECT_EQ(vocabulary.lower_case, true);
  Json cased = bert();
  cased["normalizer"]["lowercase"] = false;
  cased["normalizer"]["strip_accents"] = false;
  cased["post_processor"] = {
      {"type", "BertProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}};
  EXPECT_EQ(read(cased).lower_case, false);
}

// Each would give other ids than bp's tokenizer.
TEST(TokenizerJson, AnotherStepIsRefusedByName) {
  struct Case {
    const char* place;
    Json value;
    const char* refusal;
  };
  for (const Case& one : {
           Case{"/model/type", "BPE",
                "model.type is \"BPE\"; bp's tokenizer has only \"WordPiece\""},
           Case{"/model/unk_token", "<unk>", "model.unk_token is \"<unk>\""},
           Case{"/model/continuing_subword_prefix", "@@", "model.continuing_subword_prefix is"},
           Case{"/model/max_input_chars_per_word", 50, "model.max_input_chars_per_word is 50"},
           Case{"/model/vocab", nullptr, "model.vocab is not an object"},
           Case{"/model/vocab/a", 5, "is 5; the ids must be the numbers from 0 to 6"},
           Case{"/model/vocab/a", 7, "the id of 'a' is 7; the ids must be the numbers from 0 to 6"},
           Case{"/model/vocab/a", -1, "the id of 'a' is -1"},
           Case{"/model/vocab/a", "6", "the id of 'a' is \"6\""},
           Case{"/model/vocab/a\nb", 7, "'a\\nb' cannot be a line of a vocab.txt"},
           Case{"/normalizer", nullptr, "normalizer.type is null"},
           Case{"/normalizer/type", "Sequence", "normalizer.type is \"Sequence\""},
           Case{"/normalizer/clean_text", false, "normalizer.clean_text is false"},
           Case{"/normalizer/strip_accents", false,
                "normalizer.strip_accents is false; bp's tokenizer has only true"},
           Case{"/normalizer/lowercase", 1, "normalizer.lowercase is not true or false"},
           Case{"/pre_tokenizer/type", "Whitespace", "pre_tokenizer.type is \"Whitespace\""},
           Case{"/post_processor", nullptr, "post_processor.type is null"},
           Case{"/post_processor/pair/3/Sequence/type_id", 0,
                "post_processor.pair is a list or an object"},
           Case{"/added_tokens/0/content", "[NEW]",
                "added_tokens: bp's tokenizer has no \"[NEW]\""},
           Case{"/added_tokens/0/id", 1, "\"[PAD]\" has another id than in model.vocab"},
           Case{"/added_tokens/1/lstrip", true, "added_tokens: lstrip of \"[MASK]\" is not false"},
           Case{"/added_tokens", "x", "added_tokens: bp's tokenizer has no null"},
       }) {
    Json json = bert();
    json[Json::json_pointer(one.place)] = one.value;
    const std::string refusal = test::error_of([&] { (void)read(json); });
    EXPECT_THAT(refusal, StartsWith("invalid_argument: t.json: "));
    EXPECT_THAT(refusal, HasSubstr(one.refusal)) << one.place;
  }
  Json without = bert();
  without["model"]["vocab"] = {{"[PAD]", 0}, {"[MASK]", 1}};
  without["added_tokens"] = Json::array();
  EXPECT_THAT(test::error_of([&] { (void)read(without); }), HasSubstr("t.json has no [UNK]"));
}

TEST(TokenizerJson, BrokenOrDeepJsonIsRefused) {
  const auto error_of = [](const std::string& text) {
    return test::error_of([&] { (void)Vocabulary::parse(text, "t.json"); });
  };
  EXPECT_THAT(error_of("{"), HasSubstr("t.json: it is broken JSON: "));
  EXPECT_THAT(error_of(std::string(1000, '[')), HasSubstr("t.json: it is nested too deeply"));
  EXPECT_THAT(error_of("[]"), HasSubstr("model.type is null"));
  EXPECT_THAT(error_of("\"\xFF\""), HasSubstr("t.json: it is broken JSON: "));
}

TEST(TokenizerJson, AFolderMayHaveItInsteadOfAVocabulary) {
  const Scratch folder;
  EXPECT_EQ(find_vocabulary(folder.path("")), "");
  const std::string json = folder.write("tokenizer.json", bert().dump());
  EXPECT_EQ(find_vocabulary(folder.path("")), folder.path("") + "/tokenizer.json");
  EXPECT_EQ(Vocabulary::read(json).tokens.size(), 7U);
  (void)folder.write("vocab.txt", "");
  EXPECT_EQ(find_vocabulary(folder.path("")), folder.path("") + "/vocab.txt");
}

}  // namespace
}  // namespace bp::trainer
