// config.json and safetensors: what comes out must go in again, and nothing broken may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bp/error.h"
#include "comm/base/text.h"
#include "trainer/model/config.h"
#include "trainer/model/layout.h"
#include "trainer/model/safetensors.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

template <class Body>
std::string error_of(const Body& body, ErrorCode code) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(Config, PresetsAreThePublishedShapes) {
  const BertConfig tiny = preset("tiny").value();
  EXPECT_EQ(tiny.layers, 2);
  EXPECT_EQ(tiny.hidden, 128);
  EXPECT_EQ(tiny.heads, 2);
  EXPECT_EQ(tiny.intermediate, 512);
  EXPECT_NEAR(tiny.initializer_range, 0.049, 1e-4);
  const BertConfig large = preset("large").value();
  EXPECT_EQ(large.layers, 24);
  EXPECT_EQ(large.heads, 16);
  EXPECT_EQ(large.initializer_range, 0.02);
  for (const std::string& name : preset_names()) EXPECT_NO_THROW(check(preset(name).value()));
  EXPECT_FALSE(preset("huge").has_value());
}

TEST_F(ModelFiles, ConfigGoesThroughItsFile) {
  BertConfig config = preset("mini").value();
  config.vocabulary = 777;
  config.labels = {"bad", "good \"quoted\""};
  config.classifier_dropout = 0.25;
  config.norm_epsilon = 1e-6;
  const BertConfig again = read_config(write("config.json", config_json(config)));
  EXPECT_EQ(again.vocabulary, 777);
  EXPECT_EQ(again.hidden, 256);
  EXPECT_EQ(again.norm_epsilon, 1e-6);
  EXPECT_EQ(again.classifier_dropout, 0.25);
  EXPECT_THAT(again.labels, ElementsAre("bad", "good \"quoted\""));
}

TEST_F(ModelFiles, ConfigOfTransformersIsRead) {
  const BertConfig config = read_config(BP_SOURCE_DIR "/tests/golden/bert/config.json");
  EXPECT_EQ(config.heads, 3);
  EXPECT_THAT(config.labels, ElementsAre("no", "perhaps", "yes"));
  EXPECT_FALSE(config.classifier_dropout.has_value());
}

TEST_F(ModelFiles, BadConfigsAreRefusedByName) {
  const auto refusal = [&](const std::string& text) {
    return error_of([&] { (void)read_config(write("config.json", text)); },
                    ErrorCode::invalid_argument);
  };
  EXPECT_THAT(refusal("{"), HasSubstr("config.json: "));
  EXPECT_THAT(refusal("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("'vocab_size' is missing"));
  EXPECT_THAT(refusal(R"({"model_type": "roberta"})"), HasSubstr("model_type is 'roberta'"));
  EXPECT_THAT(refusal(R"({"hidden_act": "relu"})"), HasSubstr("hidden_act is 'relu'"));
  const std::string sizes =
      R"("vocab_size": 9, "hidden_size": 10, "num_hidden_layers": 1, "intermediate_size": 4)";
  EXPECT_THAT(refusal("{" + sizes + R"(, "num_attention_heads": 3})"), HasSubstr("no multiple"));
  EXPECT_THAT(refusal("{" + sizes + R"(, "num_attention_heads": 0})"),
              HasSubstr("num_attention_heads is 0; it must be at least 1"));
  EXPECT_THAT(refusal("{" + sizes + R"(, "num_attention_heads": 2, "hidden_dropout_prob": 1})"),
              HasSubstr("hidden_dropout_prob is 1"));
  EXPECT_THAT(error_of([&] { (void)read_config(path("none.json")); }, ErrorCode::io),
              HasSubstr("none.json: No such file"));
}

TEST_F(ModelFiles, SafetensorsGoThroughTheirFile) {
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
    return error_of([&] { (void)parse_safetensors_header(json, bytes); },
                    ErrorCode::invalid_argument);
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
              HasSubstr("no natural number"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[1.5]", "[0,4]") + "}", 4),
              HasSubstr("no natural number"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[4294967296,4294967296]", "[0,0]") + "}", 0),
              HasSubstr("too large"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[2]", "[0,4]") + "}", 4), HasSubstr("needs 8 bytes"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[1]", "[4,0]") + "}", 4), HasSubstr("needs 4 bytes"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[1]", "[4,8]") + "}", 8),
              HasSubstr("begins at byte 4"));
  EXPECT_THAT(
      refusal("{" + one("a", "F32", "[2]", "[0,8]") + "," + one("b", "F32", "[2]", "[4,12]") + "}",
              12),
      HasSubstr("'b' begins at byte 4"));
  EXPECT_THAT(refusal("{" + one("a", "F32", "[1]", "[0,4]") + "}", 5),
              HasSubstr("describes 4 bytes, but 5 are there"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":1}})", 0),
              HasSubstr("__metadata__ 'a' is no string"));
}

TEST_F(ModelFiles, BrokenSafetensorsFilesAreRefusedByName) {
  const auto refusal = [&](const std::string& bytes) {
    return error_of([&] { SafetensorsReader reader(write("bad.safetensors", bytes)); },
                    ErrorCode::invalid_argument);
  };
  EXPECT_THAT(refusal("1234"),
              HasSubstr("bad.safetensors is no valid safetensors file: it has only 4"));
  EXPECT_THAT(refusal(std::string(8, '\xff') + "{}"), HasSubstr("header is said to have"));
  EXPECT_THAT(refusal(std::string("\x03\0\0\0\0\0\0\0{}", 10)), HasSubstr("the file has 10"));
  EXPECT_THAT(error_of([&] { SafetensorsReader reader(path("none")); }, ErrorCode::io),
              HasSubstr("No such file"));
}

TEST(Layout, PacksTokensAndRoundsUp) {
  const Layout layout = make_layout({3, 1, 20}, {7, 8, 9});
  EXPECT_THAT(layout.offsets, ElementsAre(0, 3, 4, 24));
  EXPECT_EQ(layout.longest, 32);
  EXPECT_EQ(layout.tokens, 64);
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
