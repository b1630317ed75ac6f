#include "trainer/text/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/places.h"
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
           Case{"/model/type", "WordLevel",
                "model.type is \"WordLevel\"; bp's tokenizer has only \"WordPiece\", \"BPE\" and "
                "\"Unigram\""},
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
           Case{"/normalizer/strip_accents", 0, "normalizer.strip_accents is not true or false"},
           Case{"/normalizer/lowercase", 1, "normalizer.lowercase is not true or false"},
           Case{"/pre_tokenizer/type", "Whitespace", "pre_tokenizer.type is \"Whitespace\""},
           Case{"/post_processor", nullptr, "post_processor.type is null"},
           Case{"/post_processor/pair/3/Sequence/type_id", 0,
                "post_processor.pair is a list or an object"},
           Case{"/added_tokens/0/content", "[NEW]",
                "added_tokens.0.id is 0; the token '[NEW]' has another id, or ids are left out"},
           Case{"/added_tokens/0/id", 1,
                "added_tokens.0.id is 1; the token '[PAD]' has another id"},
           Case{"/added_tokens/0/id", 8,
                "added_tokens.0.id is 8; the token '[PAD]' has another id"},
           Case{"/added_tokens/1/single_word", true, "added_tokens.1.single_word is true"},
           Case{"/added_tokens/1/normalized", true, "added_tokens.1.normalized is true"},
           Case{"/added_tokens/1/content", "a",
                "added_tokens.1.id is 4; the token 'a' has another"},
           Case{"/added_tokens", "x", "added_tokens is \"x\"; it must be a list"},
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

std::vector<std::int32_t> ids_of(const Vocabulary& vocabulary, const std::string& text) {
  std::vector<std::int32_t> ids;
  Tokenizer(vocabulary).encode(text, ids);
  return ids;
}

TEST(TokenizerJson, LowerCaseMayKeepAccents) {
  Json json = bert();
  json["model"]["vocab"]["\u00e9"] = 7;
  json["model"]["vocab"]["i\u0307"] = 8;
  const auto accented = [&](bool strip) {
    json["normalizer"]["strip_accents"] = strip;
    return ids_of(read(json), "\u00c9 A\u0301 \u0130 [MASK]");
  };
  EXPECT_THAT(accented(false), testing::ElementsAre(7, 1, 8, 4));
  EXPECT_THAT(accented(true), testing::ElementsAre(1, 6, 1, 4));
  EXPECT_EQ(read(json).json(), "") << "as a vocab.txt has it";
}

TEST(TokenizerJson, WordPieceMayHaveAnotherForm) {
  Json json = bert();
  json["added_tokens"].push_back({{"id", 7}, {"content", "</s>"}, {"special", true}});
  json["post_processor"] = {
      {"type", "RobertaProcessing"}, {"sep", {"</s>", 7}}, {"cls", {"[CLS]", 2}}};
  const Vocabulary vocabulary = read(json);
  EXPECT_EQ(vocabulary.json(), json.dump());
  EXPECT_THAT(ids_of(vocabulary, "a</s>a b"), testing::ElementsAre(6, 7, 6, 1));
  EXPECT_EQ(Tokenizer(vocabulary).form(), (SampleForm{.pad = 0,
                                                      .unknown = 1,
                                                      .cls = 2,
                                                      .sep = 7,
                                                      .mask = 4,
                                                      .separators = 2,
                                                      .second_type = 0}));
}

Json golden(const std::string& family) {
  return Json::parse(read_file(kSourceDir + "/tests/golden/tokenizers/" + family + ".json"));
}

TEST(TokenizerJson, TheFormOfSamplesIsThatOfTheFamily) {
  const auto form = [](const Json& json) { return Tokenizer(read(json)).form(); };
  const SampleForm roberta{
      .pad = 1, .unknown = 3, .cls = 0, .sep = 2, .mask = 4, .separators = 2, .second_type = 0};
  EXPECT_EQ(form(golden("roberta")), roberta);
  EXPECT_EQ(form(golden("xlm-roberta")), roberta) << "which has a template";
  EXPECT_EQ(form(golden("deberta-v3")),
            (SampleForm{.pad = 1, .unknown = 3, .cls = 0, .sep = 2, .mask = 4}));
  Json json = golden("roberta");
  json["padding"] = {{"pad_id", 3}, {"pad_token", "<unk>"}};
  EXPECT_EQ(form(json).pad, 3);
  json["post_processor"] = {{"type", "Sequence"},
                            {"processors", {{{"type", "ByteLevel"}}, json["post_processor"]}}};
  EXPECT_EQ(form(json).sep, 2);
}

TEST(TokenizerJson, AStepOfAnotherFamilyIsRefusedByName) {
  struct Case {
    const char* family;
    const char* place;
    Json value;
    const char* refusal;
  };
  for (const Case& one : {
           Case{"roberta", "/pre_tokenizer/type", "Whitespace",
                "pre_tokenizer.type is \"Whitespace\"; bp's tokenizer has only \"ByteLevel\""},
           Case{"roberta", "/pre_tokenizer/use_regex", false, "pre_tokenizer.use_regex is false"},
           Case{"roberta", "/model/dropout", 0.1, "model.dropout is 0.1"},
           Case{"roberta", "/model/byte_fallback", true, "model.byte_fallback is true"},
           Case{"roberta", "/model/end_of_word_suffix", "</w>", "model.end_of_word_suffix is"},
           Case{"roberta", "/model/unk_token", "[X]", "the vocabulary of t.json has no [X]"},
           Case{"roberta", "/model/merges/3", "a",
                "model.merges: number 3 is not a pair of tokens"},
           Case{"roberta", "/model/merges/3", "a b c", "model.merges: number 3 is not a pair"},
           Case{"roberta", "/model/merges/3", {"\n", "b"}, "a merge needs the token '\\n', which"},
           Case{"roberta",
                "/normalizer",
                {{"type", "Nmt"}},
                "normalizer.type is \"Nmt\"; bp's tokenizer has only Sequence, Precompiled, Rep"},
           Case{"roberta", "/post_processor/sep/1", 3, "post_processor.sep is a list"},
           Case{"roberta", "/post_processor/type", "ByteLevel",
                "post_processor.type is \"ByteLevel"},
           Case{"roberta", "/added_tokens/0/single_word", true, "added_tokens.0.single_word is"},
           Case{
               "albert",
               "/normalizer/normalizers/0/pattern",
               {{"Regex", "a+"}},
               "normalizer.normalizers.0.pattern.Regex is \"a+\"; bp's tokenizer has only \" {2,}"},
           Case{"albert", "/normalizer/normalizers/5/precompiled_charsmap", "AAA",
                "normalizers.5.precompiled_charsmap is \"AAA\"; it must be in base64"},
           Case{"albert", "/normalizer/normalizers/5/precompiled_charsmap",
                "/////w==", "the table of replacements is cut off"},
           Case{
               "albert", "/pre_tokenizer/pretokenizers/1/type", "ByteLevel",
               "pre_tokenizer.pretokenizers.1.type is \"ByteLevel\"; bp's tokenizer has only Sequ"},
           Case{"albert", "/pre_tokenizer/pretokenizers/1/prepend_scheme", "first",
                "prepend_scheme is \"first\"; bp's tokenizer has only \"always\""},
           Case{"albert", "/pre_tokenizer", nullptr, "pre_tokenizer is null"},
           Case{"albert", "/model/unk_id", nullptr, "model.unk_id is null"},
           Case{"albert", "/model/unk_id", 9999, "model.unk_id is 9999; no piece has it"},
           Case{"albert", "/model/vocab/7", {"a"}, "model.vocab: number 7 is not a piece and its"},
           Case{"albert", "/model/vocab/7/0", "", "the token 7 is empty"},
           Case{"albert", "/model/vocab/7/0", "[CLS]", "the token '[CLS]' is there twice"},
           Case{"albert", "/post_processor/single/0/SpecialToken/id", "[X]",
                "single.0.SpecialToken.id is \"[X]\"; the vocabulary has no such token"},
           Case{"albert", "/post_processor/single/1/Sequence/id", "B",
                "post_processor.single is a"},
           Case{"albert", "/post_processor/pair/4/SpecialToken/type_id", 0,
                "post_processor.pair is"},
           Case{"albert", "/post_processor/special_tokens/[SEP]/ids", {3}, "[SEP].ids is a list"},
       }) {
    Json json = golden(one.family);
    json[Json::json_pointer(one.place)] = one.value;
    const std::string refusal = test::error_of([&] { (void)read(json); });
    EXPECT_THAT(refusal, StartsWith("invalid_argument: "));
    EXPECT_THAT(refusal, HasSubstr(one.refusal)) << one.family << one.place;
  }
}

// The wheel writes the ids that the template gives.
TEST(TokenizerJson, ATemplateInASequenceHasTheIdsOfTheVocabulary) {
  Json json = golden("albert");
  Json processor = json["post_processor"];
  json["post_processor"] = {{"type", "Sequence"}, {"processors", Json::array({processor})}};
  EXPECT_EQ(read(json).tokens, read(golden("albert")).tokens);
  processor["special_tokens"]["[SEP]"]["ids"] = {3};
  json["post_processor"]["processors"] = Json::array({processor});
  EXPECT_THAT(
      test::error_of([&] { (void)read(json); }),
      HasSubstr("post_processor.processors.0.special_tokens.[SEP].ids is a list or an object"));
}

// Old files do not say the type of the model, and write a merge as one text.
TEST(TokenizerJson, OldFilesAreRead) {
  Json json = golden("roberta");
  const std::string text = "The characters' 1\u00bd names, <mask> of it";
  const auto ids = ids_of(read(json), text);
  json["model"].erase("type");
  for (Json& merge : json["model"]["merges"]) {
    if (merge.is_array()) merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }
  EXPECT_EQ(ids_of(read(json), text), ids);
  for (const char* family : {"albert", "xlm-roberta"}) {
    Json unigram = golden(family);
    unigram["model"].erase("type");
    EXPECT_EQ(ids_of(read(unigram), text), ids_of(read(golden(family)), text));
  }
}

TEST(TokenizerJson, AVocabJsonBesideItsMergesIsRobertas) {
  const Scratch folder;
  const Json json = golden("roberta");
  std::string merges = "#version: 0.2\n";
  for (const Json& merge : json["model"]["merges"]) {
    merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  }
  const std::string path = folder.write("vocab.json", json["model"]["vocab"].dump());
  EXPECT_EQ(find_vocabulary(folder.path("")), folder.path("") + "/vocab.json");
  EXPECT_THAT(test::error_of([&] { (void)Vocabulary::read(path); }),
              HasSubstr("merges.txt: No such file"));
  (void)folder.write("merges.txt", merges);
  const Vocabulary vocabulary = Vocabulary::read(path);
  const std::string text = "It's <mask> a na\u00efve  test of vocab.json</s>";
  EXPECT_EQ(ids_of(vocabulary, text), ids_of(read(json), text));
  EXPECT_EQ(Tokenizer(vocabulary).form(), Tokenizer(read(json)).form());
  EXPECT_EQ(Vocabulary::parse(vocabulary.json(), "t.json").tokens, vocabulary.tokens);
  (void)folder.write("merges.txt", "\xC4 a\n");
  EXPECT_THAT(test::error_of([&] { (void)Vocabulary::read(path); }),
              HasSubstr("vocab.json are not UTF-8"));
  (void)folder.write("vocab.json", R"({"<s>": 0})");
  EXPECT_THAT(test::error_of([&] { (void)Vocabulary::read(path); }), HasSubstr("has no <pad>"));
}

// One without a token vanishes, or is unknown if the file has such a token.
TEST(TokenizerJson, BytesWithoutATokenFollowTheFile) {
  Json json = golden("roberta");
  Json& model = json["model"];
  model["vocab"] = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}, {"<mask>", 4},
                    {"a", 5},   {"b", 6},     {"ab", 7},   {"bab", 8}};
  model["merges"] = Json::parse(R"([["a", "b"], ["b", "ab"]])");
  using testing::ElementsAre;
  EXPECT_THAT(ids_of(read(json), "abxxab"), ElementsAre(7, 7));
  EXPECT_THAT(ids_of(read(json), "bab"), ElementsAre(8));
  EXPECT_THAT(ids_of(read(json), "baab"), ElementsAre(6, 5, 7));
  model["unk_token"] = "<unk>";
  EXPECT_THAT(ids_of(read(json), "abxxab"), ElementsAre(7, 3, 3, 7));
  model["fuse_unk"] = true;
  EXPECT_THAT(ids_of(read(json), "abxxab"), ElementsAre(7, 3, 7));
  model["merges"] = Json::parse(R"([["a", "b"]])");
  EXPECT_THAT(ids_of(read(json), "bab"), ElementsAre(6, 7));
  model["vocab"]["xyz"] = 9;
  model["ignore_merges"] = true;
  EXPECT_THAT(ids_of(read(json), "bab"), ElementsAre(8));
  EXPECT_THAT(ids_of(read(json), "xyz"), ElementsAre(9));
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
