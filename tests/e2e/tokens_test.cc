// The task "tokens" through the programs that users run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/model_difference.h"
#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The next of a sequence of numbers without a visible order.
std::uint32_t next(std::uint32_t& state) {
  state = state * 1664525 + 1013904223;
  return state >> 16;
}

// Sentences with names of persons (a first and a last name) and of places ("new" and a city). A
// person's last name may be the word "new" too, so a model must look at its neighbour.
void write_sentences(const std::string& path, int count, std::uint32_t seed, bool tagged = true) {
  constexpr const char* kFirst[] = {"anna", "peter", "maria", "otto"};
  constexpr const char* kLast[] = {"smith", "jones", "new"};
  constexpr const char* kCity[] = {"york", "delhi", "haven"};
  constexpr const char* kOther[] = {"the", "went", "to", "saw", "in", "old", "house", "river"};
  std::ofstream file(path);
  const auto word = [&](const char* text, const char* tag) {
    file << text;
    if (tagged) file << ' ' << tag;
    file << '\n';
  };
  for (int sentence = 0; sentence < count; ++sentence) {
    const std::uint32_t parts = 3 + next(seed) % 7;
    for (std::uint32_t part = 0; part < parts; ++part) {
      const std::uint32_t kind = next(seed) % 7;
      if (kind == 0) {
        word(kFirst[next(seed) % 4], "B-PER");
        word(kLast[next(seed) % 3], "I-PER");
      } else if (kind == 1) {
        word("new", "B-LOC");
        word(kCity[next(seed) % 3], "I-LOC");
      } else {
        word(kOther[next(seed) % 8], "O");
      }
    }
    file << '\n';
  }
}

class Tokens : public test::FolderSuite<Tokens> {
 protected:
  static void SetUpTestSuite() {
    make_folder();
    write_sentences(path("train.conll"), 400, 1);
    write_sentences(path("dev.conll"), 60, 2);
    write_sentences(path("test.conll"), 150, 3);
    write_sentences(path("bare.txt"), 20, 4, false);
    whole_ = in_folder(concat(train_, "--run whole"));
    ASSERT_EQ(whole_.code, 0) << whole_.output;
  }

  // Windows of 10 tokens cut many of the sentences.
  inline static const std::string train_ =
      kBinDir +
      "/bert_train train.conll --task tokens --dev dev.conll --test test.conll "
      "--model tiny --epochs 6 --max-length 10 --save-every 30 --keep 50 ";
  inline static Ended whole_;
};

// docs/acceptance.md, Tasks: A model learns to tag names.
TEST_F(Tokens, AModelLearnsTheNames) {
  EXPECT_THAT(whole_.output, HasSubstr(", 5 tags) on "));
  EXPECT_THAT(whole_.output,
              HasSubstr("\n              precision    recall  f1-score   support\n"));
  const auto summary = nlohmann::json::parse(read(path("whole/summary.json")));
  EXPECT_EQ(summary["task"], "tokens");
  EXPECT_GT(summary["test"]["f1"], 0.85) << "one tag for all words has F1 0";
  EXPECT_GT(summary["test"]["accuracy"], 0.9);
  EXPECT_THAT(read(path("whole/report.html")), HasSubstr("<h2>Entities, test split</h2>"));
  EXPECT_THAT(read(path("whole/entities.csv")),
              StartsWith("type,precision,recall,f1,support\nLOC"));
  const auto config = nlohmann::json::parse(read(path("whole/model/config.json")));
  EXPECT_EQ(config["architectures"][0], "BertForTokenClassification");
  EXPECT_EQ(config["id2label"]["0"], "O");
}

TEST_F(Tokens, AnyNumberOfRanksGivesTheSameScores) {
  const std::string eval = "bert_train eval whole test.conll --out ";
  const std::string one = output_of(concat(kBinDir + "/", eval, "one.csv"));
  const std::size_t begin = one.find("test.conll: F1 0.");
  ASSERT_NE(begin, std::string::npos) << one;
  const std::string scores = one.substr(begin, one.find('\n', begin) - begin);
  for (const int ranks : {2, 3}) {
    EXPECT_THAT(output_of(concat(kBinDir + "/bprun -n ", ranks, " ", eval, "many.csv")),
                HasSubstr(scores));
    EXPECT_EQ(read(path("many.csv")), read(path("one.csv"))) << ranks << " ranks";
  }
  EXPECT_THAT(read(path("one.csv")), StartsWith("sample_id,text_id,tags,predictions\n1,1,"));
}

TEST_F(Tokens, AResumedRunEndsWithTheSameModel) {
  const std::string command = concat(kBinDir + "/bprun -n 2 ", train_);
  (void)output_of(concat(command, "--run two"));
  (void)output_of(concat(command, "--run again --resume two/checkpoints/step-30"));
  EXPECT_EQ(read(path("again/model/model.safetensors")), read(path("two/model/model.safetensors")));
  EXPECT_EQ(read(path("again/predictions.csv")), read(path("two/predictions.csv")));
  EXPECT_NE(read(path("two/model/model.safetensors")), "");
}

// The student is told nothing but what its teacher says of each word.
// docs/features.md, Models and losses: Distillation from logits and hidden states | `--teacher`,
// `--distill-temperature`, `--distill-weight`, `--distill-hidden`
TEST_F(Tokens, AStudentLearnsTheNamesFromATeacher) {
  const std::string words =
      "bert_train train.conll --task tokens --dev dev.conll --test test.conll --model tiny "
      "--max-length 10 --teacher whole --distill-weight 1 --dropout 0 --warmup 0 --seed 5 ";
  const std::string student =
      output_of(concat(kBinDir + "/", words, "--epochs 6 --save-every none --run student"));
  EXPECT_THAT(student, HasSubstr("learning from whole"));
  const auto summary = nlohmann::json::parse(read(path("student/summary.json")));
  EXPECT_GT(summary["test"]["f1"], 0.85);
  EXPECT_THAT(read(path("student/metrics.jsonl")), HasSubstr("soft_loss"));

  const std::string few = words + "--steps 8 --save-every none ";
  (void)output_of(concat(kBinDir + "/", few, "--batch 32 --run one"));
  (void)output_of(
      concat(kBinDir + "/bprun -H localhost:3,127.0.0.1:1 ", few, "--batch 8 --run four"));
  EXPECT_LE(test::largest_difference(path("one/model/model.safetensors"),
                                     path("four/model/model.safetensors")),
            2e-5);
}

TEST_F(Tokens, PredictsWhatAnEvaluationPredicts) {
  (void)output_of(kBinDir + "/bert_train eval whole test.conll --out e.csv");
  EXPECT_EQ(output_of(kBinDir + "/bert_train predict whole test.conll"), read(path("e.csv")));
  EXPECT_EQ(output_of(kBinDir + "/bert_train predict whole train.sqlite --on test"),
            read(path("whole/predictions.csv")));
  const std::string bare = output_of(kBinDir + "/bert_train predict whole bare.txt");
  EXPECT_THAT(bare, HasSubstr("\n1,1,,"));
  EXPECT_EQ(
      output_of("echo anna smith went to new york | " + kBinDir + "/bert_train predict whole -"),
      "sample_id,text_id,tags,predictions\n1,1,,B-PER I-PER O O B-LOC I-LOC\n");
}

TEST_F(Tokens, AModelWithoutItsRunNeedsTheTask) {
  (void)output_of("cp -r whole/model alone");
  EXPECT_THAT(output_of(kBinDir + "/bert_train eval alone test.conll --task tokens"),
              HasSubstr("\ntest.conll: F1 0."));
  EXPECT_THAT(output_of(kBinDir + "/bert_train dev.conll --task tokens --model alone --epochs 1 "
                                  "--run tuned --max-length 10 --dropout 0.2"),
              Not(HasSubstr("newly initialized")));
}

TEST_F(Tokens, ChecksAndRefusesFiles) {
  const std::string found =
      output_of(kBinDir + "/bert_train check train.conll --task tokens --test bare.txt");
  EXPECT_THAT(found, HasSubstr("entities"));
  EXPECT_THAT(found, HasSubstr("  LOC"));
  std::ofstream(path("bad.conll")) << "a O\nb\n";
  const Ended bad = in_folder(kBinDir + "/bert_train prep bad.conll --task tokens");
  EXPECT_EQ(bad.code, 65);
  EXPECT_THAT(bad.output, HasSubstr("bad.conll, line 2: has 1 column, but line 1 has 2\nhint: "));
}

TEST_F(Tokens, AStoreOfAnotherTaskIsRefused) {
  std::ofstream(path("texts.csv")) << "text,label\nanna,good\notto,bad\n";
  (void)output_of(kBinDir +
                  "/bert_train prep texts.csv --vocab whole/model/vocab.txt "
                  "--split 1,0,0 --max-length 10");
  const Ended ended = in_folder(kBinDir + "/bert_train eval whole texts.sqlite");
  EXPECT_EQ(ended.code, 65);
  EXPECT_THAT(ended.output, HasSubstr("the data was prepared for the task classify, and the "
                                      "model is for tokens"));
}

}  // namespace
}  // namespace bp::trainer
