// config.json and safetensors: what bp writes must be readable again, and broken files must be
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "tests/support/places.h"
#include "tests/support/scratch.h"
#include "tests/unit/model/refusal.h"
#include "trainer/model/config.h"
#include "trainer/model/families/family.h"
#include "trainer/model/files/byte_source.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/model/files/tokenizer_config.h"
#include "trainer/model/passes/layout.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class ModelFiles : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  std::string folder_ = ::testing::TempDir() + concat("bp_model_files_", ::getpid());
};

TEST(Config, PresetsAreThePublishedShapes) {
  const EncoderSpec tiny = preset("tiny").value();
  EXPECT_EQ(tiny.layers, 2);
  EXPECT_EQ(tiny.hidden, 128);
  EXPECT_EQ(tiny.heads, 2);
  EXPECT_EQ(tiny.intermediate, 512);
  EXPECT_NEAR(tiny.initializer_range, 0.049, 1e-4);
  const EncoderSpec large = preset("large").value();
  EXPECT_EQ(large.layers, 24);
  EXPECT_EQ(large.heads, 16);
  EXPECT_EQ(large.initializer_range, 0.02);
  for (const std::string& name : preset_names()) EXPECT_NO_THROW(check(preset(name).value()));
  EXPECT_FALSE(preset("huge").has_value());
}

// docs/features.md, Models and losses: A new model of any family | `--family`
TEST_F(ModelFiles, PresetsOfEachFamilyAreModelsOfItsFile) {
  for (const std::string& family : model_types()) {
    for (const std::string& name : preset_names()) {
      SCOPED_TRACE(family + " " + name);
      const EncoderSpec spec = preset(name, family).value();
      EXPECT_EQ(spec.family, family);
      EXPECT_GE(spec.max_tokens(), 512);
      EXPECT_EQ(spec.layers, preset(name)->layers);
      EXPECT_EQ(spec.hidden, preset(name)->hidden);
      EXPECT_EQ(spec.heads, preset(name)->heads);
      EXPECT_NO_THROW(check(spec));
      EXPECT_EQ(read_config(write("config.json", config_json(spec))), spec);
    }
  }
}

TEST(Config, APresetTakesTheShapeOfItsFamily) {
  const EncoderSpec modern = preset("base", "modernbert").value();
  EXPECT_EQ(modern.intermediate, 1152);  // as in ModernBERT-base
  EXPECT_THAT(modern.local_layers, ElementsAre(false, true, true, false, true, true, false, true,
                                               true, false, true, true));
  EXPECT_EQ(preset("base", "albert")->embedding, 128);
  EXPECT_EQ(preset("base", "electra")->embedding, 768);
  EXPECT_EQ(preset("base", "roberta")->positions, 514);
  EXPECT_EQ(preset("base", "deberta-v2")->position_buckets, 256);  // as in DeBERTa-v3-base
}

TEST_F(ModelFiles, ConfigSurvivesItsFile) {
  EncoderSpec config = preset("mini").value();
  config.vocabulary = 777;
  config.head = {{"num_labels", "1"}, {"words", R"(["so","said \"no\""])"}};
  config.norm_epsilon = 1e-6;
  const EncoderSpec again = read_config(write("config.json", config_json(config)));
  EXPECT_EQ(again.vocabulary, 777);
  EXPECT_EQ(again.hidden, 256);
  EXPECT_EQ(again.norm_epsilon, 1e-6);
  EXPECT_EQ(again.head, config.head);
}

// docs/features.md, Models and losses: BERT of any size, by a JSON configuration | `--model`
TEST_F(ModelFiles, ConfigOfTransformersIsRead) {
  const EncoderSpec config = read_config(kSourceDir + "/tests/golden/bert/config.json");
  EXPECT_EQ(config.heads, 3);
  EXPECT_EQ(config.head.at("id2label"), R"({"0":"no","1":"perhaps","2":"yes"})");
}

TEST_F(ModelFiles, BadConfigsAreRefusedByName) {
  const auto refusal = [&](const std::string& text) {
    return test::refusal([&] { (void)read_config(write("config.json", text)); });
  };
  EXPECT_THAT(refusal("{"), HasSubstr("config.json: "));
  EXPECT_THAT(refusal("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("'vocab_size' is missing"));
  EXPECT_THAT(refusal(R"({"model_type": "gpt2"})"), HasSubstr("model_type is 'gpt2'"));
  EXPECT_THAT(refusal(R"({"hidden_act": "relu"})"), HasSubstr("hidden_act is 'relu'"));
  const std::string sizes =
      R"("vocab_size": 9, "hidden_size": 10, "num_hidden_layers": 1, "intermediate_size": 4)";
  EXPECT_THAT(refusal("{" + sizes + R"(, "num_attention_heads": 3})"), HasSubstr("not a multiple"));
  EXPECT_THAT(refusal("{" + sizes + R"(, "num_attention_heads": 0})"),
              HasSubstr("num_attention_heads is 0; it must be at least 1"));
  EXPECT_THAT(refusal("{" + sizes + R"(, "num_attention_heads": 2, "hidden_dropout_prob": 1})"),
              HasSubstr("hidden_dropout_prob is 1"));
  EXPECT_THAT(test::refusal([&] { (void)read_config(path("none.json")); }, ErrorCode::io),
              HasSubstr("none.json: No such file"));
}

// Returns a config.json with all sizes and `more`.
std::string sizes_and(const std::string& more) {
  return R"({"vocab_size": 9, "hidden_size": 10, "num_hidden_layers": 1, "intermediate_size": 4,
             "num_attention_heads": 2)" +
         (more.empty() ? "" : ", " + more) + "}";
}

TEST(Config, OtherKeysAreTheHeads) {
  const EncoderSpec config =
      parse_config(sizes_and(R"("transformers_version": "9", "is_decoder": false,
                                "pruned_heads": {}, "torch_dtype": null, "x": [1, {}])"));
  EXPECT_EQ(config.hidden, 10);
  EXPECT_THAT(config.head,
              ElementsAre(Pair("is_decoder", "false"), Pair("pruned_heads", "{}"),
                          Pair("torch_dtype", "null"), Pair("transformers_version", "\"9\"")));
}

TEST(Config, UnsupportedModelsAreRefused) {
  const auto refusal = [](const std::string& more) {
    return test::refusal([&] { (void)parse_config(sizes_and(more)); });
  };
  const std::string families = "; bp supports only " + family_names();
  EXPECT_THAT(families, HasSubstr("'bert', "));
  for (const char* other : {"gpt2", "t5", "vit"}) {
    EXPECT_EQ(refusal(concat(R"("model_type": ")", other, '"')),
              concat("model_type is '", other, "'", families));
  }
  EXPECT_EQ(refusal(R"("model_type": 3)"), "model_type is 3" + families);
  EXPECT_EQ(refusal(R"("hidden_act": ["gelu"])"), "hidden_act is a list; bp supports only 'gelu'");
  EXPECT_EQ(refusal(R"("position_embedding_type": "relative_key")"),
            "position_embedding_type is 'relative_key'; bp supports only 'absolute'");
  EXPECT_EQ(refusal(R"("is_decoder": true)"),
            "is_decoder is set, but bp does not support such models");
  EXPECT_EQ(refusal(R"("pruned_heads": {"0": [1]})"),
            "pruned_heads is set, but bp does not support such models");
  EXPECT_EQ(refusal(R"("quantization_config": {"bits": 8})"),
            "quantization_config is set, but bp does not support such models");
}

TEST(Config, InvalidValuesAreRefused) {
  const auto refusal = [](const std::string& more) {
    return test::refusal([&] { (void)parse_config(sizes_and(more)); });
  };
  EXPECT_EQ(refusal(R"("type_vocab_size": 4294967298)"),
            "'type_vocab_size' is 4294967298; it must be a whole number below 2^31");
  EXPECT_EQ(refusal(R"("type_vocab_size": -9223372036854775808)"),
            "'type_vocab_size' is -9223372036854775808; it must be a whole number below 2^31");
  EXPECT_EQ(refusal(R"("pad_token_id": 1.5)"),
            "'pad_token_id' is 1.5; it must be a whole number below 2^31");
  EXPECT_EQ(refusal(R"("vocab_size": null)"),
            "'vocab_size' is null; it must be a whole number below 2^31");
  EXPECT_EQ(refusal(R"("layer_norm_eps": "small")"),
            "'layer_norm_eps' is 'small'; it must be a number");
  EXPECT_EQ(refusal(R"("layer_norm_eps": 0)"), "layer_norm_eps is 0; it must be above 0");
  EXPECT_EQ(refusal(R"("initializer_range": -1)"),
            "initializer_range is -1; it must be at least 0");
  EXPECT_EQ(refusal(R"("vocab_size": 2000000000)"),
            "its shape has 2e+10 parameters; the largest number that bp supports is 8.58993e+09");
  EXPECT_EQ(refusal(R"("max_position_embeddings": 8193)"),
            "max_position_embeddings is 8193; the largest that bp supports is 8192");
  EXPECT_EQ(refusal(R"("pad_token_id": 9)"), "pad_token_id 9 is outside the vocabulary of 9");
}

TEST_F(ModelFiles, LargeConfigIsRefused) {
  EXPECT_THAT(test::refusal([&] {
                (void)read_config(write("config.json", std::string((4 << 20) + 1, ' ')));
              }),
              HasSubstr("config.json: it has 4194305 bytes; the most that bp reads is 4194304"));
}

TEST(Config, DeepNestingIsHarmless) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(test::refusal([&] {
              (void)parse_config(R"({"model_type": )" + deep + std::string(deep.size(), ']') + "}");
            }),
            "model_type is a list; bp supports only " + family_names());
  EXPECT_THAT(parse_config(sizes_and("\"x\": " + deep + std::string(deep.size(), ']'))).head,
              IsEmpty());
}

TEST_F(ModelFiles, TokenizerConfigSurvivesItsFile) {
  const TokenizerConfig config =
      read_tokenizer_config(write("t.json", tokenizer_config_json({false, 77})));
  EXPECT_FALSE(config.lower_case);
  EXPECT_EQ(config.max_length, 77);
  EXPECT_TRUE(parse_tokenizer_config("{}").lower_case);
  EXPECT_EQ(parse_tokenizer_config(R"({"model_max_length": 1000000000000000019884624838656,
                                       "strip_accents": null})")
                .max_length,
            std::nullopt);
}

TEST_F(ModelFiles, UnsupportedTokenizersAreRefused) {
  const auto refusal = [](const std::string& text) {
    return test::refusal([&] { (void)parse_tokenizer_config(text); });
  };
  EXPECT_EQ(refusal(R"({"tokenizer_class": "BertJapaneseTokenizer"})"),
            "tokenizer_class is 'BertJapaneseTokenizer'; bp supports only 'BertTokenizer'");
  EXPECT_EQ(refusal(R"({"tokenize_chinese_chars": false})"),
            "tokenize_chinese_chars is false; bp's tokenizer supports only true");
  EXPECT_EQ(refusal(R"({"do_lower_case": false, "strip_accents": true})"),
            "strip_accents is true; bp's tokenizer supports only false");
  EXPECT_EQ(refusal(R"({"do_basic_tokenize": false})"),
            "do_basic_tokenize is false; bp's tokenizer supports only true");
  EXPECT_EQ(refusal(R"({"do_lower_case": 1})"), "'do_lower_case' is 1, not true or false");
  EXPECT_EQ(refusal(R"({"model_max_length": 2})"),
            "model_max_length is 2; it must be a number of 3 or more");
  EXPECT_EQ(refusal("[]"), "it is not a JSON object");
  EXPECT_THAT(test::refusal([&] { (void)read_tokenizer_config(write("t.json", "{")); }),
              HasSubstr("t.json: it is broken JSON: "));
}

TEST_F(ModelFiles, SafetensorsSurviveTheirFile) {
  const float numbers[6] = {1, 2, 3, 4, 5, 6};
  const std::int64_t one = 42;
  write_safetensors(
      path("x"),
      {{"b", "F32", {2, 3}, numbers}, {"a", "I64", {}, &one}, {"none", "F32", {0, 4}, nullptr}});
  SafetensorsReader reader(path("x"));
  ASSERT_EQ(reader.header().entries.size(), 3U);
  EXPECT_EQ(reader.header().metadata.at("format"), "pt");
  for (const SafetensorsEntry& entry : reader.header().entries) {
    if (entry.name == "a") {
      std::int64_t value = 0;
      reader.read(entry, &value);
      EXPECT_EQ(value, 42);
      EXPECT_TRUE(entry.shape.empty());
    } else if (entry.name == "b") {
      float read[6];
      reader.read(entry, read);
      EXPECT_EQ(std::memcmp(read, numbers, sizeof(read)), 0);
      EXPECT_THAT(entry.shape, ElementsAre(2, 3));
    }
  }
  EXPECT_EQ(std::filesystem::file_size(path("x")) % 4, 0U);
}

TEST(Safetensors, BrokenHeadersAreRefused) {
  const auto refusal = [](const std::string& json, std::uint64_t bytes) {
    return test::refusal([&] { (void)parse_safetensors_header(json, bytes); });
  };
  const auto one = [](const std::string& name, const std::string& type, const std::string& shape,
                      const std::string& offsets) {
    return "\"" + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape +
           R"(,"data_offsets":)" + offsets + "}";
  };
  EXPECT_THAT(refusal("", 0), HasSubstr("begin with '{'"));
  EXPECT_THAT(refusal(" {}", 0), HasSubstr("begin with '{'"));
  EXPECT_THAT(refusal("{\"a\":", 0), HasSubstr("broken JSON"));
  EXPECT_THAT(refusal("{\"a\":1}", 0), HasSubstr("'a' lacks"));
  EXPECT_THAT(
      refusal("{" + one("a", "F32", "[1]", "[0,4]") + "," + one("a", "F32", "[1]", "[4,8]") + "}",
              8),
      HasSubstr("names 'a' twice"));
  EXPECT_THAT(refusal("{" + one("a", "F31", "[1]", "[0,4]") + "}", 4),
              HasSubstr("unknown type 'F31'"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[-1]", "[0,4]") + "}", 4),
              HasSubstr("not a natural number"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[1.5]", "[0,4]") + "}", 4),
              HasSubstr("not a natural number"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[4294967296,4294967296]", "[0,0]") + "}", 0),
              HasSubstr("too large"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[9223372036854775808]", "[0,4]") + "}", 4),
              HasSubstr("the shape of 'a' is too large"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[2]", "[0,4]") + "}", 4), HasSubstr("needs 8 bytes"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[1]", "[4,0]") + "}", 4), HasSubstr("needs 4 bytes"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[1]", "[4,8]") + "}", 8),
              HasSubstr("begins at byte 4"));
  EXPECT_THAT(
      refusal("{" + one("a", "F32", "[2]", "[0,8]") + "," + one("b", "F32", "[2]", "[4,12]") + "}",
              12),
      HasSubstr("'b' begins at byte 4"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[1]", "[0,4]") + "}", 5),
              HasSubstr("describes 4 bytes, but 5 follow it"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":1}})", 0),
              HasSubstr("__metadata__ 'a' is not a string"));
  EXPECT_THAT(refusal(R"({"__metadata__":1})", 0), HasSubstr("__metadata__ is not an object"));
  EXPECT_THAT(refusal(R"({"a":[[[[[1]]]]]})", 0), HasSubstr("nested too deeply"));
  EXPECT_THAT(refusal(R"({"\u001b[31m":1})", 0), HasSubstr("'?[31m' lacks"));
}

// docs/acceptance.md, Strangers: Damaged safetensors files are refused by name.
TEST_F(ModelFiles, BrokenSafetensorsFilesAreRefusedByName) {
  const auto refusal = [&](const std::string& bytes) {
    return test::refusal([&] { SafetensorsReader reader(write("bad.safetensors", bytes)); });
  };
  EXPECT_THAT(refusal("1234"),
              HasSubstr("bad.safetensors is not a valid safetensors file: it has only 4"));
  EXPECT_THAT(refusal(std::string(8, '\xff') + "{}"), HasSubstr("header is said to have"));
  EXPECT_THAT(refusal(std::string("\x03\0\0\0\0\0\0\0{}", 10)), HasSubstr("the file has 10"));
  EXPECT_THAT(test::refusal([&] { SafetensorsReader reader(path("none")); }, ErrorCode::io),
              HasSubstr("No such file"));
}

TEST_F(ModelFiles, SafetensorsMayComeInPieces) {
  const float numbers[6] = {1, 2, 3, 4, 5, 6};
  const std::int64_t one = 42;
  std::vector<SafetensorsItem> items = {{"first", "F32", {2}, numbers},
                                        {"all", "F32", {2, 3}, numbers},
                                        {"last", "F32", {3}, numbers + 3},
                                        {"a", "I64", {}, &one}};
  write_safetensors(path("whole"), items);
  items[1].data = nullptr;
  const auto bytes = std::as_bytes(std::span(numbers));
  const auto write = [&](const std::vector<std::pair<std::size_t, std::size_t>>& pieces) {
    SafetensorsWriter file(path("pieces"), items);
    for (const auto& [begin, end] : pieces) {
      file.write_piece("all", begin, bytes.subspan(begin, end - begin));
    }
    file.write_piece("none", 0, bytes);
    file.finish();
  };
  write({{4, 16}, {0, 4}, {16, 24}});
  EXPECT_EQ(bp::read_file(path("pieces")), bp::read_file(path("whole")));
  EXPECT_DEATH(write({{4, 16}}), "a tensor was not written as a whole");
}

TEST_F(ModelFiles, SafetensorsNeedAnExistingFolder) {
  EXPECT_EQ(test::refusal([&] { write_safetensors(path("none/x"), {}); }, ErrorCode::io),
            concat("cannot create ", path("none/x"), ": No such file or directory"));
}

TEST_F(ModelFiles, BytesBeyondTheEndAreRefused) {
  char to[4];
  const MemoryBytes memory({1, 2, 3, 4});
  EXPECT_EQ(test::refusal([&] { memory.read(3, to, 2); }, ErrorCode::io),
            "cannot read 2 bytes at 3 of 4");
  const std::string name = write("four", "1234");
  const FileBytes file(name);
  EXPECT_EQ(test::refusal([&] { file.read(3, to, 2); }, ErrorCode::io),
            concat("cannot read 2 bytes at 3 of ", name, ", which has 4"));
  std::filesystem::resize_file(name, 2);
  EXPECT_EQ(test::refusal([&] { file.read(1, to, 2); }, ErrorCode::io),
            concat(name, " became shorter while it was read"));
}

// docs/features.md, Input: Padding to the longest text or to a fixed length | Not needed: bp
// computes tokens only.
TEST(Layout, PacksTokensAndRoundsUp) {
  const Layout layout = make_layout({3, 1, 20}, {7, 8, 9});
  EXPECT_THAT(layout.offsets, ElementsAre(0, 3, 4, 24));
  EXPECT_EQ(layout.longest, 32);
  EXPECT_EQ(layout.tokens, 32);
  EXPECT_EQ(layout.row_of_token[3], 1);
  EXPECT_EQ(layout.row_of_token[24], -1);
  EXPECT_EQ(layout.length(2), 20);
  const Layout first = first_tokens(layout);
  EXPECT_EQ(first.tokens, 3);
  EXPECT_EQ(first.length(2), 1);
  EXPECT_THAT(first.samples, ElementsAre(7, 8, 9));
}

}  // namespace
}  // namespace bp::trainer
