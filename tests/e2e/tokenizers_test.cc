// Model folders and vocabularies with a tokenizer.json, from training to scoring.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "tests/e2e/trained_run.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TokenizerFiles : public test::TrainedRun {};

// transformers 5 saves a tokenizer.json and no vocab.txt.
TEST_F(TokenizerFiles, AFolderWithATokenizerJsonTrainsAndScoresLikeOneWithAVocabulary) {
  const std::string make = R"(
import json, shutil, sys
shutil.copytree("r/model", "five")
ids = {line: id for id, line in enumerate(open("five/vocab.txt").read().splitlines())}
token = lambda name, type: {"SpecialToken": {"id": name, "type_id": type}}
text = lambda name, type: {"Sequence": {"id": name, "type_id": type}}
single = [token("[CLS]", 0), text("A", 0), token("[SEP]", 0)]
json.dump({
    "version": "1.0", "truncation": {"max_length": 9}, "padding": None,
    "added_tokens": [{"id": ids[name], "content": name, "lstrip": False, "special": True}
                     for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")],
    "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                   "strip_accents": None, "lowercase": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "TemplateProcessing", "single": single,
                       "pair": single + [text("B", 1), token("[SEP]", 1)]},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100, "vocab": ids}}, open("five/tokenizer.json", "w"))
shutil.move("five/vocab.txt", "vocab.txt")
)";
  std::ofstream(path("make.py")) << make;
  ASSERT_EQ(in_folder("python3 make.py").code, 0);
  const std::string train = " --steps 2 --batch 8 --max-length 32 --model ";
  const Ended five = bert_train("other.csv --run by-json --store j.sqlite" + train + "five");
  ASSERT_EQ(five.code, 0) << five.output;
  const Ended four = bert_train("other.csv --run by-lines --store l.sqlite" + train + "r/model");
  ASSERT_EQ(four.code, 0) << four.output;
  EXPECT_EQ(read(path("by-json/predictions.csv")), read(path("by-lines/predictions.csv")));
  EXPECT_EQ(read(path("by-json/model/vocab.txt")), read(path("r/model/vocab.txt")));
  const Ended scored = bert_train("eval five other.csv --out five.csv");
  EXPECT_EQ(scored.code, 0) << scored.output;
  EXPECT_EQ(bert_train("eval r/model other.csv --out four.csv").code, 0);
  EXPECT_EQ(read(path("five.csv")), read(path("four.csv")));

  const Ended cased = bert_train("other.csv --vocab five/tokenizer.json --cased --run c");
  EXPECT_EQ(cased.code, 2);
  EXPECT_THAT(cased.output, HasSubstr("five/tokenizer.json is for texts in lower case\nhint: leave "
                                      "out --cased\n"));
  const Ended level = in_folder("sed -i s/WordPiece/WordLevel/ five/tokenizer.json; " + kBinDir +
                                "/bert_train other.csv --run b --model five");
  EXPECT_EQ(level.code, 65);
  EXPECT_THAT(level.output,
              HasSubstr("five/tokenizer.json: model.type is \"WordLevel\"; bp's tokenizer has only "
                        "\"WordPiece\", \"BPE\" and \"Unigram\""));
}

TEST_F(TokenizerFiles, AByteLevelTokenizerTrainsSavesAndPredicts) {
  const std::string golden = kSourceDir + "/tests/golden/tokenizers/roberta.json";
  const std::string with = " --steps 2 --batch 8 --max-length 32 --store bytes.sqlite";
  const Ended trained =
      bert_train("other.csv --vocab " + golden + " --model tiny --run bytes" + with);
  ASSERT_EQ(trained.code, 0) << trained.output;
  EXPECT_EQ(read(path("bytes/model/tokenizer.json")), read(golden));
  EXPECT_THAT(in_folder("ls bytes/model").output, Not(HasSubstr("vocab.txt")));
  EXPECT_THAT(read(path("bytes/model/config.json")), HasSubstr("\"pad_token_id\": 1"));
  EXPECT_THAT(read(path("bytes/model/tokenizer_config.json")), HasSubstr("\"cls_token\": \"<s>\""));
  EXPECT_EQ(bert_train("eval bytes/model bytes.sqlite --on train --out store.csv").code, 0);
  EXPECT_EQ(bert_train("eval bytes/model other.csv --out file.csv").code, 0);
  const Ended again = bert_train("other.csv --model bytes/model --run again" + with);
  EXPECT_EQ(again.code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("bytes.sqlite"));
  const Ended other = bert_train("bytes.sqlite --model r/model --steps 1 --run wrong");
  EXPECT_EQ(other.code, 65);
  EXPECT_THAT(other.output,
              HasSubstr("the data was prepared with another vocabulary than r/model"));
}

// The shape of a small RoBERTa, with the tokenizer that it is trained with.
void write_roberta(const std::string& folder) {
  std::filesystem::create_directory(folder);
  std::filesystem::copy_file(kSourceDir + "/tests/golden/tokenizers/roberta.json",
                             folder + "/tokenizer.json");
  std::ofstream(folder + "/config.json")
      << R"({"model_type": "roberta", "vocab_size": 700, "hidden_size": 16, "num_hidden_layers": 1,
             "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 66,
             "type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5})";
}

// docs/features.md, Input: Pre-training with a RoBERTa, behind `<mask>` | `--task pretrain --model`
TEST_F(TokenizerFiles, ARobertaIsPretrainedBehindItsOwnMask) {
  write_roberta(path("roberta"));
  std::ofstream text(path("small.txt"));
  for (int document = 0; document < 60; ++document) {
    text << "small letters with capital letters\nsigns of latin letters " << document % 7 << "\n\n";
  }
  text.close();
  const std::string train = "small.txt --task pretrain --batch 8 --max-length 32 ";
  const Ended first =
      bert_train(train +
                 "--whole-words --steps 6 --model roberta --vocab roberta/tokenizer.json "
                 "--run masked");
  ASSERT_EQ(first.code, 0) << first.output;
  EXPECT_THAT(read(path("masked/model/config.json")), HasSubstr("\"model_type\": \"roberta\""));
  EXPECT_THAT(read(path("masked/model/tokenizer_config.json")),
              HasSubstr("\"mask_token\": \"<mask>\""));
  const Ended again = bert_train(train + "--steps 2 --model masked/model --run more-masked");
  ASSERT_EQ(again.code, 0) << again.output;
  EXPECT_THAT(again.output, Not(HasSubstr("newly initialized")));
  EXPECT_EQ(bert_train("eval more-masked small.txt").code, 0);

  const std::string pairs =
      "--task pretrain --next-sentence --max-length 32 --steps 2 "
      "--model tiny --vocab roberta/tokenizer.json ";
  const Ended of_text = bert_train("small.txt --run pairs --store pairs.sqlite " + pairs);
  EXPECT_EQ(of_text.code, 0) << of_text.output;
  const Ended made = bert_train(
      "shards small.txt --vocab roberta/tokenizer.json --max-length 32 --copies 2 --out s");
  ASSERT_EQ(made.code, 0) << made.output;
  const Ended of_shards = bert_train("s --run shards " + pairs);
  EXPECT_EQ(of_shards.code, 0) << of_shards.output;
}

TEST_F(TokenizerFiles, ANewModelOfAFamilyTakesAVocabularyOfEitherKind) {
  const std::string with = "other.csv --model tiny --vocab-size 320 --steps 2 --max-length 32 ";
  for (const char* family : {"albert", "bart", "deberta-v2", "modernbert", "roberta"}) {
    SCOPED_TRACE(family);
    const std::string run = concat(family, "-run");
    const Ended trained = bert_train(concat(with, "--family ", family, " --run ", run));
    ASSERT_EQ(trained.code, 0) << trained.output;
    EXPECT_THAT(read(path(run + "/model/config.json")),
                HasSubstr(concat("\"model_type\": \"", family, "\"")));
    const Ended again = bert_train(concat("eval ", run, "/model other.csv"));
    EXPECT_EQ(again.code, 0) << again.output;
  }
  // transformers takes 1 for the padding of an MPNet, and that of a vocabulary of pieces is 0.
  const Ended pieces = bert_train(with + "--family mpnet --run mpnet-run");
  EXPECT_EQ(pieces.code, 65);
  EXPECT_THAT(pieces.output,
              AllOf(HasSubstr("has the id 0, and models of the family mpnet need 1"),
                    HasSubstr("hint: --vocab-kind bpe trains a vocabulary that fits")));
  const Ended bytes = bert_train(with + "--family mpnet --vocab-kind bpe --run mpnet-run");
  EXPECT_EQ(bytes.code, 0) << bytes.output;
  const Ended folder =
      bert_train("other.csv --model roberta-run/model --family modernbert --run folder-run");
  EXPECT_EQ(folder.code, 2);
  EXPECT_THAT(folder.output, HasSubstr("--family has no effect with --model roberta-run/model"));
}

TEST_F(TokenizerFiles, AVocabularyOfBytePairsIsTrainedOnTheTexts) {
  const std::string with = " --vocab-kind bpe --vocab-size 320 --steps 2 --max-length 32 ";
  const Ended trained =
      bert_train("other.csv --model tiny --run pairs-run --store bpe.sqlite" + with);
  ASSERT_EQ(trained.code, 0) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr("training a vocabulary"));
  for (const char* token : {"\"<mask>\":4", "\"\u0120stone\":"}) {
    EXPECT_THAT(read(path("pairs-run/model/vocab.json")), HasSubstr(token));
    EXPECT_THAT(read(path("pairs-run/model/tokenizer.json")), HasSubstr(token));
  }
  EXPECT_THAT(read(path("pairs-run/model/merges.txt")), StartsWith("#version: 0.2\n"));
  EXPECT_EQ(bert_train("eval pairs-run/model other.csv --out whole.csv").code, 0);
  std::filesystem::remove(path("pairs-run/model/tokenizer.json"));
  const Ended older = bert_train("eval pairs-run/model other.csv --out older.csv");
  EXPECT_EQ(older.code, 0) << older.output;
  EXPECT_EQ(read(path("older.csv")), read(path("whole.csv")));
  const Ended same = bert_train(
      "prep other.csv --store bpe.sqlite --max-length 32 --vocab-kind "
      "bpe --vocab-size 320");
  EXPECT_THAT(same.output, HasSubstr("using the store bpe.sqlite, which matches"));
  const Ended pieces =
      bert_train("prep other.csv --store bpe.sqlite --max-length 32 --vocab-size 320");
  EXPECT_EQ(pieces.code, 2) << pieces.output;
  EXPECT_THAT(pieces.output, HasSubstr("at most 320 tokens of byte pairs there"));
}

}  // namespace
}  // namespace bp::trainer
