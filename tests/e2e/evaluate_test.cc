// bert_train eval, and the protection of the store that a run needs, through the program that users
// run.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/trained_run.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class EvaluateRun : public test::TrainedRun {};

// docs/acceptance.md, Runs: A file given to eval is scored completely, and leaves no files.
TEST_F(EvaluateRun, AFileIsScoredWholeAndLeavesNoFiles) {
  const auto before = names();
  const Ended run = bert_train("eval r other.csv");
  ASSERT_EQ(run.code, 0) << run.output;
  const std::string scores = line_of(run.output, "other.csv: accuracy ");
  EXPECT_THAT(scores, EndsWith(", 200 samples")) << run.output;
  for (const char* command : {"eval r/model other.csv", "eval r/checkpoints/latest other.csv"}) {
    const Ended other = bert_train(command);
    EXPECT_EQ(other.code, 0) << other.output;
    EXPECT_EQ(line_of(other.output, "other.csv: accuracy "), scores) << command;
  }
  const Ended best = bert_train("eval r/checkpoints/best other.csv");
  EXPECT_THAT(line_of(best.output, "other.csv: accuracy "), EndsWith(", 200 samples"))
      << best.output;
  const Ended ranks =
      in_folder(kBinDir + "/bprun -H localhost:2,127.0.0.1:1 bert_train eval r other.csv");
  EXPECT_EQ(ranks.code, 0) << ranks.output;
  EXPECT_EQ(line_of(ranks.output, "[0] other.csv: accuracy "), "[0] " + scores);
  EXPECT_EQ(names(), before);
}

TEST_F(EvaluateRun, AnotherPrecisionIsComparedWithFp32) {
  const Ended run = bert_train("eval r other.csv --precision bf16 --out e.csv");
  ASSERT_EQ(run.code, 0) << run.output;
  const std::string compared = line_of(run.output, "bf16 beside fp32, ");
  EXPECT_THAT(compared,
              MatchesRegex("bf16 beside fp32, samples 1 to 200: outputs differ by at most "
                           "0\\.0[0-9]+, and [0-9] of 200 have another largest one"));
  const Ended ranks =
      in_folder(kBinDir + "/bprun -n 3 bert_train eval r other.csv --precision bf16");
  EXPECT_EQ(line_of(ranks.output, "[0] other.csv: accuracy "),
            "[0] " + line_of(run.output, "other.csv: accuracy "));
  const Ended predicted = bert_train("predict r other.csv --precision bf16 --out p.csv");
  EXPECT_THAT(predicted.output, HasSubstr("bert_train: bf16 beside fp32, samples 1 to "));
  EXPECT_EQ(read(path("p.csv")), read(path("e.csv")));
  bert_train("eval r other.csv --out e.csv");
  EXPECT_NE(read(path("p.csv")), read(path("e.csv")));
  in_folder("rm e.csv p.csv");
}

TEST_F(EvaluateRun, ARunIsFoundFromAnyFolder) {
  const std::string test = line_of(bert_train("eval r").output, "test: ");
  ASSERT_THAT(test, EndsWith(", 30 samples"));
  const std::string worst = "not good";  // of the rows whose texts report shows
  ASSERT_THAT(bert_train("report r").output, HasSubstr(worst));
  for (const std::string folder : {"/", "r", "tmp"}) {
    const std::string run = folder == "r" ? "." : path("r");
    const std::string command = concat("cd ", folder, " && " + kBinDir + "/bert_train ");
    const Ended scored = in_folder(concat(command, "eval ", run));
    EXPECT_EQ(scored.code, 0) << scored.output;
    EXPECT_EQ(line_of(scored.output, "test: "), test) << scored.output;
    EXPECT_THAT(in_folder(concat(command, "report ", run)).output, HasSubstr(worst));
  }
  // A whole project moves.
  in_folder("mkdir moved && cp -r data.csv r moved && mv data.csv data.sqlite tmp");
  const Ended moved = in_folder("cd / && " + kBinDir + "/bert_train eval " + path("moved/r"));
  in_folder("rm -r moved && mv tmp/data.csv tmp/data.sqlite .");
  EXPECT_EQ(line_of(moved.output, "test: "), test) << moved.output;
}

TEST_F(EvaluateRun, WhatARemarkOffersWorksAsItIsPrinted) {
  in_folder("(cat data.csv; tail -n +2 data.csv) > twice.csv");
  const std::string without = "twice.csv --model tiny --steps 2 --batch 8 --max-length 32 ";
  const std::string options = without + "--run t ";
  const Ended first = bert_train(options);
  ASSERT_EQ(first.code, 0) << first.output;
  const std::string offer = "--dedupe --run t-2";
  EXPECT_THAT(first.output, HasSubstr(concat("; ", offer, " keeps each text once")));
  const Ended refused = bert_train(options + "--dedupe");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output,
              HasSubstr("the data is not what the checkpoint was trained on; dedupe is "));
  EXPECT_THAT(refused.output, HasSubstr("--dedupe leaves out 300 of 600 rows"));
  const Ended followed = bert_train(without + offer);
  EXPECT_EQ(followed.code, 0) << followed.output;
  in_folder("rm -r t t-2 twice*");
}

TEST_F(EvaluateRun, TheRunsOwnSplitsNeedNoStoreAndLeaveNone) {
  const auto line = [](const std::string& arguments, const std::string& begin) {
    const Ended ended = bert_train("eval " + arguments);
    EXPECT_EQ(ended.code, 0) << ended.output;
    return line_of(ended.output, begin);
  };
  const std::string test = line("r", "test: ");
  EXPECT_THAT(test, EndsWith(", 30 samples"));
  EXPECT_EQ(line("r data.csv --on test", "test: "), test);
  EXPECT_THAT(line("r data.csv", "data.csv: "), EndsWith(", 300 samples"));
  EXPECT_THAT(line("r --on train", "train: "), EndsWith(", 240 samples"));
  EXPECT_THAT(line("r/checkpoints/best", "test: "), EndsWith(", 30 samples"));
  EXPECT_EQ(line("r --checkpoint best", "test: "), line("r/checkpoints/best", "test: "));

  std::filesystem::rename(path("data.sqlite"), path("away"));
  const auto before = names();
  EXPECT_EQ(line("r", "test: "), test);
  EXPECT_EQ(names(), before);
  // A file that replaces the run's data would have other splits.
  std::filesystem::rename(path("data.csv"), path("data.away"));
  std::filesystem::copy(path("other.csv"), path("data.csv"));
  const Ended changed = bert_train("eval r");
  EXPECT_EQ(changed.code, 65);
  EXPECT_THAT(changed.output, HasSubstr("data.csv is no longer what r was trained on\n"));
  std::filesystem::rename(path("data.away"), path("data.csv"));
  std::filesystem::rename(path("away"), path("data.sqlite"));
}

// docs/acceptance.md, Runs: A label that the model lacks is named.
TEST_F(EvaluateRun, ALabelThatTheModelLacksIsNamed) {
  std::ofstream(path("strange.csv")) << "text,label\nred,yes\nblue,yess\n";
  const auto before = names();
  const Ended ended = bert_train("eval r strange.csv");
  EXPECT_EQ(ended.code, 65);
  EXPECT_THAT(ended.output, HasSubstr("strange.csv, row 2 (line 3): label"));
  EXPECT_THAT(ended.output,
              HasSubstr("is not among those of the model: no, yes\nhint: did you mean"));
  EXPECT_EQ(names(), before);
}

// The run's own splits are made again.
// docs/acceptance.md, Data: Each class has its share of the splits.
TEST_F(EvaluateRun, AStratifiedRunIsScoredOnItsOwnSplit) {
  const Ended trained = bert_train(
      "data.csv --stratify --model tiny --steps 2 --batch 8 --vocab r/model/vocab.txt --store "
      "s.sqlite "
      "--run stratified");
  ASSERT_EQ(trained.code, 0) << trained.output;
  std::filesystem::remove(path("s.sqlite"));
  const Ended ended = bert_train("eval stratified");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(line_of(ended.output, "test: "), EndsWith(", 30 samples"));
}

// docs/acceptance.md, Data: Labels can be given, mapped or left out.
TEST_F(EvaluateRun, RowsWithOtherLabelsAreLeftOut) {
  std::ofstream(path("mixed.csv")) << "text,label\nred,odd\nred,1\nblue,\nblue,no\nred,yes\n";
  std::ofstream(path("map.csv")) << "1,yes\r\n0,no\r\n";
  const Ended ended =
      bert_train("eval r mixed.csv --label-map map.csv --unknown-labels skip --out mixed-p.csv");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("--unknown-labels skip leaves out 1 row with other labels "
                                      "than those of the model, the first: mixed.csv, row 1 "
                                      "(line 2), label 'odd'\n"));
  EXPECT_THAT(ended.output, HasSubstr(", 3 samples"));
  const std::string rows = read(path("mixed-p.csv"));
  EXPECT_THAT(rows, HasSubstr("\n1,2,yes,")) << "the id must be the row in the file";
  EXPECT_THAT(rows, HasSubstr("\n2,3,,"));
  EXPECT_THAT(rows, HasSubstr("\n4,5,yes,"));
  const Ended refused = bert_train("eval r mixed.csv --label-map map.csv");
  EXPECT_EQ(refused.code, 65);
  EXPECT_THAT(refused.output, HasSubstr("mixed.csv, row 1 (line 2): label 'odd' is not among"));
}

// docs/acceptance.md, Data: A file without labels gets predictions and no scores.
TEST_F(EvaluateRun, AFileWithoutLabelsGetsPredictionsAndNoScores) {
  std::ofstream(path("bare.csv")) << "text,label\nred,\nblue stone,\n";
  const Ended ended = bert_train("eval r bare.csv --out p.csv");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("bare.csv: no labels to compare with, 2 samples"));
  EXPECT_THAT(ended.output, Not(HasSubstr("accuracy")));
  EXPECT_THAT(read(path("p.csv")), HasSubstr("\n2,2,,"));

  const Ended trained = bert_train(
      "data.csv --model tiny --steps 2 --batch 8 --test bare.csv --store b.sqlite --run bare");
  EXPECT_EQ(trained.code, 0) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr("test: no labels to compare with, 2 samples; predictions "
                                        "in bare/predictions.csv\n"));
  EXPECT_THAT(trained.output, Not(HasSubstr("0.0000")));
  const auto summary = nlohmann::json::parse(read(path("bare/summary.json")));
  EXPECT_TRUE(summary["test"]["accuracy"].is_null());
  EXPECT_TRUE(summary["test"]["loss"].is_null());
  EXPECT_THAT(read(path("bare/predictions.csv")), HasSubstr(",2,,"));
  EXPECT_THAT(read(path("bare/report.html")), Not(HasSubstr("nan")));
}

// docs/features.md, Evaluation and reports: A table of scores by class | the terminal,
// `classes.csv`
TEST_F(EvaluateRun, PrintsTheScoresOfEachClass) {
  const Ended ended = bert_train("eval r other.csv");
  EXPECT_THAT(ended.output, HasSubstr("precision    recall  f1-score   support\n"));
  EXPECT_THAT(ended.output, HasSubstr("weighted avg"));
}

// docs/acceptance.md, Runs: A store that a run needs is never replaced.
TEST_F(EvaluateRun, AStoreThatARunNeedsIsNeverReplaced) {
  const std::string store = read(path("data.sqlite"));
  const Ended named = bert_train("prep data.csv --max-length 64 --store data.sqlite");
  EXPECT_EQ(named.code, 2);
  EXPECT_THAT(named.output, HasSubstr("hint: name another place for the new store with --store"));
  EXPECT_THAT(named.output, Not(HasSubstr("--rebuild")));
  const Ended rebuilt = bert_train("prep data.csv --max-length 64 --rebuild");
  EXPECT_EQ(rebuilt.code, 2);
  EXPECT_THAT(rebuilt.output, HasSubstr("--rebuild would replace the store data.sqlite, which the "
                                        "run in "));
  EXPECT_THAT(rebuilt.output, HasSubstr("hint: leave out --rebuild: "));
  const Ended other = bert_train("prep data.csv --max-length 64");
  EXPECT_EQ(other.code, 0) << other.output;
  EXPECT_THAT(other.output, HasSubstr("the store data.sqlite was made differently: max length is "
                                      "32 there, 64 here; this one is data-"));
  (void)in_folder("rm data-*");
  EXPECT_EQ(bert_train("eval r data.csv --rebuild").code, 2);
  EXPECT_TRUE(read(path("data.sqlite")) == store);
  const Ended resumed = bert_train(
      "data.csv --model tiny --epochs 2 --batch 8 --max-length 32 --label-smoothing 0.1 --run r");
  EXPECT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_THAT(resumed.output, HasSubstr("resuming from r/checkpoints/step-30"));
  EXPECT_THAT(resumed.output, HasSubstr("label-smoothing is 0 in the checkpoint, 0.1 here"));
}

// The run's store has not the usual name, and two hosts agree on it.
TEST_F(EvaluateRun, ARunOfOtherOptionsIsScoredOnItsOwnStore) {
  const Ended trained =
      in_folder(kBinDir +
                "/bprun -H localhost:1,127.0.0.1:2 bert_train data.csv --model tiny --steps 4 "
                "--batch 8 --max-length 32 --seed 2 --run own");
  ASSERT_EQ(trained.code, 0) << trained.output;
  EXPECT_THAT(read(path("own/config.yaml")),
              ::testing::ContainsRegex("store: data-[0-9a-f]*.sqlite"));
  const Ended scored = bert_train("eval own --out own.csv");
  ASSERT_EQ(scored.code, 0) << scored.output;
  EXPECT_EQ(read(path("own.csv")), read(path("own/predictions.csv")));
  const auto count = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(count(output_of("ls data*.sqlite")), 2);
  // The texts of the worst rows are in that store.
  const std::string worst =
      output_of(kBinDir + "/bert_train report own | grep -A1 -m1 \"^  text \"");
  const std::string id = worst.substr(7, worst.find(',') - 7);
  const std::string row = output_of(concat("tail -n +2 data.csv | sed -n ", id, "p"));
  EXPECT_THAT(worst, HasSubstr(row.substr(0, row.find(',')))) << "row " << id;
  // Another seed of training with the same splits.
  const Ended same = bert_train(
      "data.csv --model tiny --steps 4 --batch 8 --max-length 32 --seed 3 "
      "--data-seed 2 --run third");
  ASSERT_EQ(same.code, 0) << same.output;
  EXPECT_EQ(count(output_of("ls data*.sqlite")), 2);
  EXPECT_EQ(output_of("cut -d, -f1-3 third/predictions.csv"),
            output_of("cut -d, -f1-3 own/predictions.csv"));
  EXPECT_EQ(bert_train("eval third --out third.csv").code, 0);
  EXPECT_EQ(read(path("third.csv")), read(path("third/predictions.csv")));
  (void)in_folder("rm -r own own.csv third third.csv data-*");
}

TEST_F(EvaluateRun, AnUnknownOrEmptySplitIsNamed) {
  const Ended misspelt = bert_train("eval r --on trian");
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_EQ(misspelt.output,
            "bert_train: --on: 'trian' is none of train|dev|test\nhint: did you mean 'train'?\n");
  const Ended prepared = bert_train(
      "prep data.csv --vocab r/model/vocab.txt --max-length 32 --split 1,0,0 --store whole.sqlite");
  ASSERT_EQ(prepared.code, 0) << prepared.output;
  const Ended empty = bert_train("eval r whole.sqlite --on dev");
  EXPECT_EQ(empty.code, 65) << empty.output;
  EXPECT_THAT(empty.output,
              HasSubstr("the data has no dev samples\nhint: choose another split with --on\n"));
}

TEST_F(EvaluateRun, AFoldedTextIsSaidBesideTheScores) {
  std::string words;
  for (int word = 0; word < 100; ++word) words += "red stone ";
  std::ofstream(path("long.csv")) << "text,label\n" << words << "good,yes\nred,no\n";
  const Ended scored = bert_train("eval r long.csv");
  EXPECT_EQ(scored.code, 0) << scored.output;
  EXPECT_THAT(scored.output,
              HasSubstr("long.csv: 8 samples of 2 texts; a text has one answer, from "
                        "the mean of its samples\n"));
  EXPECT_THAT(scored.output, HasSubstr(", 2 texts\n"));
  EXPECT_THAT(bert_train("eval r long.csv --answer-per sample").output,
              HasSubstr("long.csv: 8 samples of 2 texts; the scores are of samples, so a long text "
                        "counts several times\n"));
  EXPECT_THAT(bert_train("eval r other.csv").output, Not(HasSubstr(" texts")));

  std::ofstream many(path("many.csv"));
  many << "text,label\n";
  for (int row = 0; row < 20; ++row) many << words << row << (row % 2 ? ",yes\n" : ",no\n");
  many.close();
  const Ended trained = bert_train(
      "many.csv --vocab r/model/vocab.txt --max-length 32 --split 0.5,0,0.5 --model tiny --steps 1 "
      "--batch 4 --run folded");
  ASSERT_EQ(trained.code, 0) << trained.output;
  const Ended told = bert_train("report folded --out again.html");
  EXPECT_THAT(told.output, ContainsRegex("\ntest: [0-9]+ samples of 10 texts\n"));
  const auto section = [&](const std::string& file) {
    const std::string page = read(path(file));
    const std::size_t begin = page.find("Lengths of the data");
    return page.substr(begin, page.find("</section>", begin) - begin);
  };
  EXPECT_THAT(section("again.html"), HasSubstr(" samples of 10 texts.</p>"));
  EXPECT_EQ(section("again.html"), section("folded/report.html"));
}

TEST_F(EvaluateRun, ATraceThatCannotBeWrittenIsNamed) {
  const Ended ended =
      bert_train("data.csv --model tiny --steps 1 --batch 8 --trace /dev/null/t --run traced");
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.output, HasSubstr("cannot create the trace /dev/null/t/"));
}

TEST_F(EvaluateRun, WithoutAFolderForItsFilesTMPDIRIsNamed) {
  const Ended ended = in_folder("TMPDIR=/dev/null/no " + kBinDir + "/bert_train eval r other.csv");
  EXPECT_EQ(ended.code, 70);
  EXPECT_THAT(ended.output, HasSubstr("cannot make the folder /dev/null/no/bert_train-"));
  EXPECT_THAT(ended.output, HasSubstr("hint: set TMPDIR to a folder that you may write to\n"));
}

// docs/acceptance.md, Runs: A path that cannot be written is reported before the work.
TEST_F(EvaluateRun, AMissingFolderForPredictionsIsReportedBeforeScoring) {
  const Ended ended = bert_train("eval r other.csv --out nodir/p.csv");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.output,
            "bert_train: --out: cannot write nodir/p.csv: its folder does not exist\n"
            "hint: name a file in a folder that exists and that you may write to\n");
}

}  // namespace
}  // namespace bp::trainer
