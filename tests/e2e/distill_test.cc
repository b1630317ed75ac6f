// Learning from a teacher (--teacher) through the program that users run: the same model on each
// layout of ranks, the same bits after a pause, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/text.h"
#include "tests/e2e/model_difference.h"
#include "tests/e2e/trained_run.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::read;
using ::testing::HasSubstr;

// The teacher is the model of the run r; the student has narrower states.
class DistillRuns : public test::TrainedRun {
 protected:
  static void SetUpTestSuite() {
    TrainedRun::SetUpTestSuite();
    fs::create_directory(path("narrow"));
    std::ofstream(path("narrow/config.json"))
        << R"({"model_type": "bert", "vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 1,
               "num_attention_heads": 2, "intermediate_size": 64})";
  }
  static std::string command(const std::string& options, const std::string& placing = "") {
    const std::string program =
        placing.empty() ? kBinDir + "/bert_train " : kBinDir + "/bprun " + placing + " bert_train ";
    return concat(program, "other.csv --model narrow --vocab r/model/vocab.txt --max-length 32 ",
                  options);
  }
  static std::string weights_of(const std::string& run) {
    return path(run + "/model/model.safetensors");
  }
};

// docs/features.md, Models and losses: Distillation from logits and hidden states | `--teacher`,
// `--distill-temperature`, `--distill-weight`, `--distill-hidden`
TEST_F(DistillRuns, TrainTheSameModelOnEachLayoutAndAfterAPause) {
  const std::string common =
      "--teacher r/model --distill-temperature 3 --distill-weight 0.7 --distill-hidden 0.5 "
      "--dropout 0 --warmup 0 --steps 8 --save-every 4 --keep 3 --eval-every 100 ";
  const std::string uneven = "-H localhost:3,127.0.0.1:1";
  const std::string said = output_of(command(common + "--batch 32 --run one"));
  EXPECT_THAT(said, HasSubstr("learning from r/model (2 layers, hidden 128)"));
  (void)output_of(command(common + "--batch 8 --run four", uneven));
  EXPECT_LE(test::largest_difference(weights_of("one"), weights_of("four")), 2e-5);
  (void)output_of(
      command(common + "--batch 8 --run rest --resume four/checkpoints/step-4", uneven));
  EXPECT_TRUE(read(weights_of("rest")) == read(weights_of("four")));
  // The projection is needed to continue, not to predict.
  EXPECT_THAT(read(path("four/checkpoints/step-8/model.safetensors")),
              HasSubstr("distillation.projection"));
  EXPECT_EQ(read(weights_of("four")).find("distillation."), std::string::npos);
  (void)output_of(kBinDir + "/bert_train eval four/checkpoints/latest --out p.csv");
  EXPECT_EQ(read(path("p.csv")), read(path("four/predictions.csv")));

  (void)output_of(command("--dropout 0 --warmup 0 --steps 8 --batch 32 --run alone"));
  EXPECT_GT(test::largest_difference(weights_of("one"), weights_of("alone")), 1e-4);
}

TEST_F(DistillRuns, TeacherAndStudentMayBeOfTwoFamiliesThatShareATokenizer) {
  const std::string data =
      kBinDir + "/bert_train other.csv --model tiny --max-length 32 --dropout 0 ";
  (void)output_of(data + "--family roberta --vocab-kind bpe --vocab-size 320 --steps 8 --run old");
  const std::string student =
      data + "--family distilbert --vocab old/model/tokenizer.json --warmup 0 --steps 8 ";
  const std::string said =
      output_of(student + "--teacher old/model --distill-hidden 0.5 --run young");
  EXPECT_THAT(said, HasSubstr("learning from old/model (2 layers, hidden 128)"));
  EXPECT_THAT(read(path("young/model/config.json")), HasSubstr("\"model_type\": \"distilbert\""));
  EXPECT_EQ(read(path("young/model/tokenizer.json")), read(path("old/model/tokenizer.json")));
  (void)output_of(kBinDir + "/bert_train eval young --out p.csv");
  EXPECT_EQ(read(path("p.csv")), read(path("young/predictions.csv")));
  (void)output_of(student + "--run alone-young");
  EXPECT_GT(test::largest_difference(weights_of("young"), weights_of("alone-young")), 1e-4);
  const Ended other = in_folder(data + "--family distilbert --teacher old/model --run no");
  EXPECT_EQ(other.code, 65);
  EXPECT_THAT(other.output, HasSubstr("--vocab old/model/tokenizer.json, --max-length"));
}

TEST_F(DistillRuns, ATeacherThatDoesNotFitIsRefused) {
  const auto refused = [](int code, const std::string& arguments) {
    const Ended ended = in_folder(arguments);
    EXPECT_EQ(ended.code, code) << ended.output;
    EXPECT_FALSE(fs::exists(path("no/model")));
    return ended.output;
  };
  std::ofstream csv(path("three.csv"));
  csv << "text,label\n";
  for (int row = 0; row < 60; ++row) csv << "stone " << row << ",label " << row % 3 << "\n";
  csv.close();
  const std::string program = kBinDir + "/bert_train ";
  EXPECT_THAT(refused(65, program + "three.csv --vocab r/model/vocab.txt --max-length 32 --teacher "
                                    "r/model --run no"),
              HasSubstr("--teacher: r/model predicts something else than the data has: the model's "
                        "labels are not the data's"));
  EXPECT_THAT(
      refused(65, program + "other.csv --store own.sqlite --max-length 32 --teacher r/model "
                            "--run no"),
      HasSubstr("--teacher: the data was prepared with another vocabulary than "
                "r/model/vocab.txt"));
  EXPECT_THAT(refused(2, command("--teacher narrow --run no")),
              HasSubstr("--teacher: narrow has no "
                        "weights"));
  EXPECT_THAT(refused(2, command("--distill-weight 0.3 --run no")),
              HasSubstr("--distill-weight has no effect without --teacher"));
  EXPECT_THAT(refused(2, command("--teacher r/model --distill-weight 0 --run no")),
              HasSubstr("--teacher has no effect with --distill-weight 0"));
  std::ofstream(path("plain.txt")) << "red stone\nblue sky\n\ngreen grass\n";
  EXPECT_THAT(refused(2, program + "plain.txt --task pretrain --teacher r/model --run no"),
              HasSubstr("--teacher: models of the task pretrain do not learn from a teacher"));
}

}  // namespace
}  // namespace bp::trainer
