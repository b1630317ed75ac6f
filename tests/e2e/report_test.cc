// bert_train report and bert_train runs, on a real run.
// docs/acceptance.md, Runs: A run that is finished, in progress, stopped, failed or damaged has a
// report, and so has a predictions.csv alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/e2e/trained_run.h"
#include "tests/support/places.h"

namespace bp::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class ReportCommand : public TrainedRun {};

std::string after(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  return at == std::string::npos ? "" : text.substr(at);
}

// The predictions have six decimals, so only the scores of probabilities could differ.
TEST_F(ReportCommand, OfARunHasTheTablesOfEval) {
  const Ended scored = bert_train("eval r");
  const Ended report = bert_train("report r");
  ASSERT_EQ(report.code, 0) << report.output;
  EXPECT_THAT(report.output, AllOf(HasSubstr("state     finished\n"), HasSubstr("bert_train 0."),
                                   HasSubstr("best dev  accuracy ")));
  EXPECT_EQ(after(report.output, "true \\ predicted").substr(0, 60),
            after(scored.output, "true \\ predicted").substr(0, 60));
  EXPECT_THAT(after(scored.output, "precision"), Not(""));
  const std::string averages = after(scored.output, "   macro avg");
  EXPECT_THAT(report.output, HasSubstr(averages.substr(0, averages.find("\n\n"))));

  const Ended file = bert_train("report r/predictions.csv --out p.html");
  ASSERT_EQ(file.code, 0) << file.output;
  const auto tables = [](const std::string& output) {
    const std::string from = after(output, "true \\ predicted");
    return from.substr(0, from.find("worst rows"));
  };
  EXPECT_EQ(tables(file.output), tables(report.output));
  EXPECT_THAT(read(path("p.html")), AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("roc_auc")));
}

// The texts are in the store of the run, and a predictions.csv alone has none.
// docs/features.md, Evaluation and reports: The worst rows with their texts | `report.html`,
// `bert_train report RUN`
TEST_F(ReportCommand, ShowsTheWorstRowsWithTheirTexts) {
  const Ended report = bert_train("report r --out page.html");
  ASSERT_EQ(report.code, 0) << report.output;
  const std::string worst = after(report.output, "worst rows of test, those with the highest loss");
  EXPECT_THAT(worst, MatchesRegex(".*\n  text [0-9]+, sample [0-9]+: is .*, predicted .*; "
                                  "probability of the true label .*, loss .*\n    .* good\n.*"));
  const std::string page = read(path("page.html"));
  const std::string own = read(path("r/report.html"));
  const std::string quote = after(own, "<blockquote>");
  EXPECT_THAT(page, HasSubstr(quote.substr(0, quote.find("</blockquote>"))));

  const Ended file = bert_train("report r/predictions.csv");
  EXPECT_THAT(file.output, HasSubstr("worst rows of r/predictions.csv"));
  EXPECT_THAT(after(file.output, "worst rows"), Not(HasSubstr("\n    ")));
}

TEST_F(ReportCommand, ComparesRunsAndListsThem) {
  const Ended other = bert_train(
      "data.csv --model tiny --epochs 1 --batch 8 --max-length 32 --lr 1e-5 --run all/s");
  ASSERT_EQ(other.code, 0) << other.output;
  std::filesystem::create_directory_symlink(path("r"), path("all/r"));
  const Ended compared = bert_train("report all/r all/s --out c.html");
  ASSERT_EQ(compared.code, 0) << compared.output;
  EXPECT_THAT(compared.output, AllOf(HasSubstr("\nr "), HasSubstr("\ns "), HasSubstr("\nlr ")));
  EXPECT_THAT(read(path("c.html")), AllOf(HasSubstr("run-1"), HasSubstr("run-2")));

  std::filesystem::create_directory(path("all/damaged"));
  std::ofstream(path("all/damaged/config.yaml")) << "a: [";
  const Ended listed = bert_train("runs all --sort accuracy");
  ASSERT_EQ(listed.code, 0) << listed.output;
  EXPECT_THAT(listed.output, AllOf(HasSubstr("finished"), HasSubstr("damaged")));
  const auto json =
      nlohmann::json::parse(output_of(kBinDir + "/bert_train runs all --out-format json"));
  ASSERT_EQ(json.size(), 3U);
  const auto summary = nlohmann::json::parse(read(path("r/summary.json")));
  EXPECT_EQ(json[1]["test"], summary["test"]["accuracy"]);
}

TEST_F(ReportCommand, MistakesHaveOneLineAndAHint) {
  const auto expect = [](const std::string& arguments, int code, const std::string& text) {
    const Ended ended = bert_train(arguments);
    EXPECT_EQ(ended.code, code) << ended.output;
    EXPECT_THAT(ended.output, AllOf(HasSubstr(text), HasSubstr("hint: "))) << arguments;
  };
  expect("report none.csv", 66, "cannot read none.csv");
  expect("report data.csv", 65, "has no predictions that can be scored by themselves");
  expect("report tmp", 66, "tmp is not the folder of a run");
  expect("report r data.csv", 2, "data.csv is not a run's folder");
  expect("report r --out none/p.html", 2, "its folder does not exist");
  expect("report r --sort loss", 2, "--sort");
  expect("runs none", 66, "there is no folder none");
  expect("runs . --sort acuracy", 2, "did you mean 'accuracy'?");
  expect("runs . --out-format jsn", 2, "did you mean 'json'?");
  EXPECT_EQ(bert_train("report").code, 2);
}

// Writing to /dev/full fails, and opening it by a redirection changes nothing.
TEST_F(ReportCommand, OutputThatIsLostIsAnErrorOfItsOwn) {
  for (const char* const arguments :
       {"report r", "report r/predictions.csv", "runs .", "eval r", "check data.csv",
        "estimate data.csv --model tiny --batch 8 --max-length 32 --measured-steps 1", "--help",
        "--help=json", "--version", "--completion bash", "report --help"}) {
    const Ended full = bert_train(concat(arguments, " > /dev/full"));
    EXPECT_EQ(full.code, 74) << arguments;
    EXPECT_THAT(full.output,  // estimate also shows its progress on stderr
                ::testing::EndsWith(
                    "bert_train: cannot write to standard output: No space left on device\n"))
        << arguments;
  }
  const Ended limited = in_folder("ulimit -f 1; " + kBinDir + "/bert_train --help >h");
  EXPECT_EQ(limited.code, 74);
  EXPECT_EQ(limited.output, "bert_train: cannot write to standard output: File too large\n");
  for (const char* const arguments : {"--help", "report r", "predict r other.csv"}) {
    const Ended closed = bert_train(concat(arguments, " >&-"));
    EXPECT_EQ(closed.code, arguments[0] == 'p' ? 70 : 74) << arguments;
    EXPECT_THAT(closed.output, MatchesRegex("bert_train: cannot write [a-z ]*to standard output: "
                                            "Bad file descriptor\n"))
        << arguments;
  }
  const Ended predicted = bert_train("predict r other.csv > /dev/full");
  EXPECT_EQ(predicted.code, 70);
  EXPECT_EQ(predicted.output,
            "bert_train: cannot write the predictions to standard output: No space left on "
            "device\n");
  const Ended refused = bert_train("check none.csv > /dev/full");
  EXPECT_EQ(refused.code, 66) << refused.output;
}

// A rename to the name would replace the link, the pipe or the device.
TEST_F(ReportCommand, OutputsGoThroughLinksPipesAndDevices) {
  std::filesystem::create_directory(path("kept"));
  const Ended ended = in_folder(
      "ln -s kept/page.html link && mkfifo pipe && " + kBinDir +
      "/bert_train report r --out link >/dev/null && test -L link && grep -q DOCTYPE "
      "kept/page.html "
      "&& { timeout 60 cat pipe > read & } && " +
      kBinDir +
      "/bert_train eval r other.csv --out pipe >/dev/null; code=$?; wait; test -p pipe && "
      "wc -l < read; rm -r link pipe kept; exit $code");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_EQ(ended.output, "201\n");
  const Ended out = in_folder(kBinDir +
                              "/bert_train predict r other.csv --out /dev/stdout > rows; code=$?; "
                              "wc -l < rows; rm rows; exit $code");
  EXPECT_EQ(out.code, 0) << out.output;
  EXPECT_EQ(out.output, "202\n") << "the rows and what predict says of them";
  const Ended unread =
      in_folder("mkfifo pipe; timeout --preserve-status -k 60 -s TERM 3 " + kBinDir +
                "/bert_train predict r other.csv --out pipe; code=$?; rm pipe; exit $code");
  EXPECT_EQ(unread.code, 75) << unread.output;
  EXPECT_THAT(unread.output, HasSubstr("stopped on request while waiting for a reader of pipe\n"));
  const Ended folder = bert_train("export r --out tmp");
  EXPECT_EQ(folder.code, 2);
  EXPECT_THAT(folder.output, StartsWith("bert_train: --out: cannot write tmp: it is a folder\n"));
}

TEST_F(ReportCommand, ARefusedRunLeavesNoFolder) {
  const Ended ended =
      in_folder("mkdir fresh && cd fresh && printf \"a,b\\n1,2\\n\" > odd.csv && " + kBinDir +
                "/bert_train odd.csv; code=$?; ls; cd .. && rm -r fresh; exit $code");
  EXPECT_EQ(ended.code, 2) << ended.output;
  EXPECT_THAT(ended.output, ::testing::EndsWith("\nodd.csv\n"));
  const Ended large = in_folder("mkdir fresh && cd fresh && cp ../data.csv . && " + kBinDir +
                                "/bert_train data.csv --model tiny --max-parameters 1000; code=$?; "
                                "LC_ALL=C ls -d runs; cd .. && rm -r fresh; exit $code");
  const Ended empty =
      in_folder("mkdir -p fresh/runs && cp data.csv fresh && " + kBinDir +
                "/bert_train check fresh >/dev/null; code=$?; rm -r fresh; exit $code");
  EXPECT_EQ(empty.code, 0) << empty.output;
  EXPECT_EQ(large.code, 77) << large.output;
  EXPECT_THAT(large.output, HasSubstr("No such file"));
}

TEST_F(ReportCommand, ARunIsAddedToADatabaseAndNeverLostByIt) {
  const std::string options = "data.csv --model tiny --steps 4 --batch 8 --max-length 32 ";
  ASSERT_EQ(bert_train(options + "--run d --runs-db runs.db").code, 0);
  std::ofstream(path("query.py")) << "import sqlite3, sys\n"
                                     "print(sqlite3.connect('runs.db').execute(f'SELECT "
                                     "{sys.argv[1]} FROM {sys.argv[2]}').fetchall())\n";
  EXPECT_EQ(output_of("python3 query.py state,steps,ranks runs"), "[('finished', 4, 1)]\n");
  EXPECT_EQ(output_of("python3 query.py COUNT\\(*\\) predictions"), "[(30,)]\n");

  const Ended refused = bert_train(options + "--run e --runs-db data.csv");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output, HasSubstr("--runs-db: data.csv: file is not a database"));
  EXPECT_FALSE(std::filesystem::exists(path("e/config.yaml")));

  // The file is in use for longer than a run waits.
  std::ofstream(path("lock.py")) << "import sqlite3, subprocess, sys\n"
                                    "database = sqlite3.connect('runs.db', isolation_level=None)\n"
                                    "database.execute('BEGIN EXCLUSIVE')\n"
                                    "sys.exit(subprocess.run(sys.argv[1:]).returncode)\n";
  const Ended locked = in_folder("python3 lock.py " + kBinDir + "/bert_train " + options +
                                 "--run f --runs-db runs.db");
  EXPECT_EQ(locked.code, 0) << locked.output;
  EXPECT_THAT(locked.output, HasSubstr("--runs-db: the run is not in runs.db: "));
  EXPECT_TRUE(std::filesystem::exists(path("f/report.html")));
}

TEST_F(ReportCommand, SaysHowARunFailed) {
  // No file may have more than 256 kB, and a checkpoint is larger.
  const Ended failed =
      in_folder("ulimit -f 500; " + kBinDir +
                "/bert_train data.csv --model tiny --steps 4 --batch 8 --max-length 32 --run bad");
  ASSERT_EQ(failed.code, 70) << failed.output;
  const Ended listed = bert_train("runs bad");
  EXPECT_THAT(listed.output,
              AllOf(HasSubstr("failed"),
                    HasSubstr("\nbad: the checkpoint of step 4 failed: cannot write")));
  EXPECT_THAT(bert_train("report bad").output,
              HasSubstr("state     failed: the checkpoint of step 4"));
}

}  // namespace
}  // namespace bp::test
