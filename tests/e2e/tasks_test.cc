// What every task must do, through the program that users run: learn, train the same model on any
// layout of ranks, continue to the same bits, and predict what it evaluates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/model_difference.h"
#include "tests/e2e/shell_folder.h"
#include "tests/e2e/task_data.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::HasSubstr;

struct TaskCase {
  std::string name;
  std::string task;
  std::string options;
  std::string file;                           // of its data
  std::function<void(std::ofstream&)> write;  // the data
  std::string score;                          // in summary.json
  double at_least = 0;                        // after training
  std::string training = {};                  // more options
  std::string dropout = "0.1";                // where all layouts train the same model
  double tolerance = 2e-5;                    // of their weights, and below 1e-4 of norms
  std::string make = {};                      // a command that is run when `file` is written
  std::string data = {};                      // what it makes to train on; empty: `file`
  std::string rate = {};                      // --lr of tests that name none; empty: the default
  int epochs = 4;                             // in which it learns
};
void PrintTo(const TaskCase& one, std::ostream* out) { *out << one.name; }

// The tests of a task share a folder and a trained run.
class Tasks : public ::testing::TestWithParam<TaskCase> {
 protected:
  static void TearDownTestSuite() { folders().clear(); }
  void SetUp() override {
    const bool made = folders().contains(GetParam().name);
    folder_ = &folders()[GetParam().name];
    if (made) return;
    std::ofstream file(path(GetParam().file));
    GetParam().write(file);
    file.close();
    if (!GetParam().make.empty()) (void)folder_->output_of(GetParam().make);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_->path(name); }
  // With one thread, because those of several ranks wait for each other on a busy machine.
  [[nodiscard]] Ended in_folder(const std::string& command) const {
    return folder_->run("export OMP_NUM_THREADS=1; " + command);
  }
  [[nodiscard]] static std::string data() {
    return GetParam().data.empty() ? GetParam().file : GetParam().data;
  }
  // Trains with the task's data.
  void train(const std::string& run, const std::string& options, const std::string& placing = "") {
    const std::string program =
        placing.empty() ? kBinDir + "/bert_train " : kBinDir + "/bprun " + placing + " bert_train ";
    const bool has_rate = GetParam().rate.empty() || options.find("--lr ") != std::string::npos;
    const Ended ended =
        in_folder(concat(program, data(), " --task ", GetParam().task, " ", GetParam().options, " ",
                         GetParam().training, has_rate ? "" : " --lr " + GetParam().rate,
                         " --max-length 64 --run ", run, " ", options));
    ASSERT_EQ(ended.code, 0) << ended.output;
  }
  static std::string of_learning() { return concat("--batch 16 --epochs ", GetParam().epochs); }
  // Trains the run "r", unless an earlier test has.
  void learn() {
    if (!std::filesystem::exists(path("r/summary.json"))) train("r", of_learning());
  }
  [[nodiscard]] nlohmann::json summary_of(const std::string& run) const {
    return nlohmann::json::parse(read(path(run + "/summary.json")));
  }

 private:
  static std::map<std::string, test::ShellFolder>& folders() {
    static std::map<std::string, test::ShellFolder> folders;
    return folders;
  }
  const test::ShellFolder* folder_ = nullptr;
};

// docs/acceptance.md, Training: Each task learns, and predicts what it evaluates.
TEST_P(Tasks, LearnsAndPredictsWhatItEvaluates) {
  ASSERT_NO_FATAL_FAILURE(learn());
  const auto summary = summary_of("r");
  EXPECT_EQ(summary["task"], GetParam().task);
  EXPECT_GE(summary["test"][GetParam().score].get<double>(), GetParam().at_least);

  const Ended evaluated =
      in_folder(concat(kBinDir + "/bert_train eval r ", data(), " --out e.csv"));
  EXPECT_EQ(evaluated.code, 0) << evaluated.output;
  const Ended predicted =
      in_folder(concat(kBinDir + "/bert_train predict r ", data(), " --out p.csv"));
  EXPECT_EQ(predicted.code, 0) << predicted.output;
  EXPECT_EQ(read(path("p.csv")), read(path("e.csv")));
  const Ended ranks =
      in_folder(concat(kBinDir + "/bprun -H localhost:2,127.0.0.1:1 bert_train eval r ", data(),
                       " --out ranks.csv"));
  EXPECT_EQ(ranks.code, 0) << ranks.output;
  EXPECT_EQ(read(path("ranks.csv")), read(path("e.csv")));
  EXPECT_EQ(in_folder(concat(kBinDir + "/bert_train check ", data(), " --task ", GetParam().task,
                             " ", GetParam().options))
                .code,
            0);
}

// docs/acceptance.md, Training: Each task trains one model on any layout of ranks.
// docs/acceptance.md, Unequal machines: Each task trains one model with equal and unequal shares.
TEST_P(Tasks, EachLayoutTrainsTheSameModel) {
  const std::string common =
      concat("--dropout ", GetParam().dropout,
             " --lr 1e-4 --epsilon 1e-6 --warmup 0 --steps 20 --eval-every 1000 ");
  train("one", common + "--batch 24");
  const auto summary = summary_of("one");
  struct Layout {
    std::string name;
    std::string placing;
    std::string options;
  };
  for (const Layout& layout : {Layout{"two", "-n 2", "--batch 6 --accumulate 2"},
                               Layout{"hosts", "-H localhost:2,127.0.0.1:1", "--batch 8"},
                               Layout{"shares", "-H localhost:2,127.0.0.1:1",
                                      "--batch 8 --share localhost:1,127.0.0.1:3"}}) {
    SCOPED_TRACE(layout.name);
    train(layout.name, common + layout.options, layout.placing);
    EXPECT_LE(test::largest_difference(path("one/model/model.safetensors"),
                                       path(layout.name + "/model/model.safetensors")),
              GetParam().tolerance);
    if (GetParam().tolerance < 1e-4) {
      EXPECT_LE(test::largest_part_of_norm(path("one/model/model.safetensors"),
                                           path(layout.name + "/model/model.safetensors")),
                GetParam().tolerance);
    }
    EXPECT_NEAR(summary_of(layout.name)["test"]["loss"].get<double>(),
                summary["test"]["loss"].get<double>(), 1e-3);
  }
}

// docs/acceptance.md, Training: Each task continues to the same bits.
TEST_P(Tasks, ContinuesToTheSameBits) {
  ASSERT_NO_FATAL_FAILURE(learn());
  const int steps = summary_of("r")["steps"];
  const int saved = steps - steps / GetParam().epochs;  // at the end of the last epoch but one
  train("rest", concat(of_learning(), " --resume r/checkpoints/step-", saved));
  EXPECT_TRUE(read(path("rest/model/model.safetensors")) ==
              read(path("r/model/model.safetensors")));
  EXPECT_EQ(read(path("rest/predictions.csv")), read(path("r/predictions.csv")));
}

class PretrainedModel : public Tasks {};

TEST_P(PretrainedModel, IsFineTuned) {
  train("r", "--epochs 2");
  std::ofstream labelled(path("labelled.csv"));
  labelled << "text,label\n";
  for (int row = 0; row < 100; ++row) labelled << (row % 2 == 0 ? "one two,a\n" : "six ten,b\n");
  labelled.close();
  const std::string classify =
      kBinDir + "/bert_train labelled.csv --task classify --run c --steps 20 --model ";
  const Ended tuned = in_folder(classify + "r/model");
  EXPECT_EQ(tuned.code, 0) << tuned.output;
  EXPECT_THAT(tuned.output, HasSubstr("newly initialized: 4 weights: bert.pooler.dense.bias, "
                                      "bert.pooler.dense.weight, classifier.bias, "
                                      "classifier.weight\nnot used of r/model/model.safetensors: "
                                      "5 weights: cls.predictions.bias"));
  const Ended evaluated =
      in_folder(concat(kBinDir + "/bert_train eval c/model ", GetParam().file, " --task pretrain"));
  EXPECT_EQ(evaluated.code, 65);
  EXPECT_THAT(evaluated.output, HasSubstr("c/model/config.json is of a model for another task: "
                                          "[\"BertForSequenceClassification\"]"));
}

const TaskCase kSentences{.name = "pairs",
                          .task = "classify",
                          .options = "--text premise --text2 hypothesis",
                          .file = "pairs.csv",
                          .write = test::write_pairs,
                          .score = "accuracy",
                          .at_least = 0.9,
                          .rate = "1e-3"};
const TaskCase kPretrain{.name = "pretrain",
                         .task = "pretrain",
                         .options = "",
                         .file = "runs.txt",
                         .write = test::write_runs,
                         .score = "accuracy",
                         .at_least = 0.5,
                         .rate = "2e-3",
                         .epochs = 8};
const TaskCase kPairs{.name = "next_sentence",
                      .task = "pretrain",
                      .options = "--next-sentence --copies 4 --vocab vocab.txt",
                      .file = "documents.txt",
                      .write = test::write_documents,
                      .score = "accuracy",
                      .at_least = 0.5,
                      .make = test::kMakeVocabulary,
                      .rate = "2e-3"};
const TaskCase kShards{
    .name = "shards",
    .task = "pretrain",
    .options = "--next-sentence --vocab vocab.txt",
    .file = "documents.txt",
    .write = test::write_documents,
    .score = "accuracy",
    .at_least = 0.5,
    .make = concat(test::kMakeVocabulary,
                   " && " + kBinDir +
                       "/bert_train shards documents.txt --vocab vocab.txt --out s "
                       "--copies 2 --max-length 32 --rows 600"),
    .data = "s",
    .rate = "2e-3",
    .epochs = 8};
// A sum in another order may be rounded to another number of fp16, and AdamW moves a weight by
// about --lr in each of the 20 steps, whatever its gradient is.
TaskCase in_fp16(TaskCase one) {
  one.name += "_in_fp16";
  one.training += " --precision fp16";
  one.tolerance = 2e-4;
  return one;
}
TaskCase at_rate(const std::string& rate, TaskCase one) {
  one.rate = rate;
  return one;
}
TaskCase for_epochs(int epochs, TaskCase one) {
  one.epochs = epochs;
  return one;
}
INSTANTIATE_TEST_SUITE_P(All, PretrainedModel, ::testing::Values(kPretrain));

INSTANTIATE_TEST_SUITE_P(
    All,
    Tasks,
    ::testing::Values(
        kSentences,
        in_fp16(kSentences),
        for_epochs(8,
                   {"weighted", "classify", "--text premise --text2 hypothesis", "pairs.csv",
                    test::write_pairs, "accuracy", 0.9,
                    "--class-weights balanced --label-smoothing 0.05 --focal-gamma 1"}),
        at_rate("1e-3",
                {"r_drop", "classify", "--text premise --text2 hypothesis", "pairs.csv",
                 test::write_pairs, "accuracy", 0.9, "--r-drop 1", "0.1"}),
        // VAT normalises a small gradient, and its rounding with it.
        TaskCase{"vat", "classify", "--text premise --text2 hypothesis", "pairs.csv",
                 test::write_pairs, "accuracy", 0.9, "--vat 0.1 --vat-eps 0.3", "0.1", 4e-5},
        at_rate("2e-3",
                {"labels", "classify", "--multi-label --label-separator semicolon", "labels.csv",
                 test::write_labels, "f1_micro", 0.9, "--class-weights balanced"}),
        at_rate("2e-3",
                {"labels_r_drop", "classify", "--multi-label --label-separator semicolon",
                 "labels.csv", test::write_labels, "f1_macro", 0.9, "--r-drop 1 --vat 0.1", "0.1"}),
        at_rate("1e-3", {"regress", "regress", "", "sums.csv", test::write_sums, "pearson", 0.9}),
        at_rate("1e-3", {"tokens", "tokens", "", "names.conll", test::write_names, "f1", 0.9}),
        at_rate("1e-3",
                {"gap_concat", "gap", "", "pronouns.tsv", test::write_pronouns, "accuracy", 0.9,
                 "--gap-head concat"}),
        at_rate("1e-3",
                {"gap_mul", "gap", "", "pronouns.tsv", test::write_pronouns, "accuracy", 0.9,
                 "--gap-head mul"}),
        at_rate("1e-3",
                {"gap_segment", "gap", "", "pronouns.tsv", test::write_pronouns, "accuracy", 0.9,
                 "--gap-head segment"}),
        kPretrain,
        in_fp16(kPretrain),
        kPairs,
        kShards),
    [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace bp::trainer
