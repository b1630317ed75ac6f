// bert_train predict, through the program that users run.
#include <gmock/gmock.h>

#include <cstdint>
#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/e2e/trained_run.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Predict : public test::TrainedRun {
 protected:
  // Runs predict with these arguments; its standard input is `input`.
  static Ended predict_input(const std::string& input, const std::string& arguments) {
    std::ofstream(path("input"), std::ios::binary) << input;
    return in_folder("cat input | " + kBinDir + "/bert_train predict " + arguments);
  }
};

// docs/features.md, Use: Predictions from a trained model | `bert_train predict`; `export` for
// onnxruntime
TEST_F(Predict, WritesTheNumbersOfAnEvaluation) {
  const auto before = names();
  EXPECT_EQ(bert_train("eval r other.csv --out e.csv").code, 0);
  EXPECT_EQ(bert_train("predict r other.csv --out p.csv").output,
            "predicted 200 samples in p.csv\n");
  EXPECT_EQ(read(path("p.csv")), read(path("e.csv")));
  EXPECT_EQ(output_of(kBinDir + "/bert_train predict r other.csv"), read(path("e.csv")));
  EXPECT_EQ(output_of(kBinDir + "/bert_train predict r data.sqlite"),
            read(path("r/predictions.csv")));
  EXPECT_NE(output_of(kBinDir + "/bert_train predict r other.csv --checkpoint step-30"), "");
  std::filesystem::remove(path("e.csv"));
  std::filesystem::remove(path("p.csv"));
  EXPECT_EQ(names(), before) << "predict writes nothing beside its data";
}

// docs/features.md, Input: Rows without labels, to predict | `bert_train predict`
TEST_F(Predict, NeedsNoAnswers) {
  std::ofstream(path("bare.csv")) << "id,text\n7,red stone\n8,\n";
  std::ofstream(path("bare.jsonl")) << "{\"text\": \"red stone\"}\n{\"text\": null}\n";
  const std::string table = output_of(kBinDir + "/bert_train predict r bare.csv");
  EXPECT_THAT(table, StartsWith("sample_id,text_id,label,prediction,p_no,p_yes\n1,1,,"));
  EXPECT_THAT(table, HasSubstr("\n2,2,,"));
  EXPECT_EQ(output_of(kBinDir + "/bert_train predict r bare.jsonl"), table);
  std::ofstream(path("wrong.csv")) << "id,txt\n7,red stone\n";
  const std::string alone = "predict r none.csv 2>/dev/null; echo code $?";
  EXPECT_EQ(output_of(kBinDir + "/bert_train " + alone), "code 66\n") << "and nothing before it";
  const Ended text = bert_train("predict r \"a text\"");
  EXPECT_EQ(text.code, 66);
  EXPECT_THAT(text.output,
              HasSubstr("cannot read a text: there is no such file\nhint: a text comes "
                        "by standard input: echo 'a text' | bert_train predict RUN -"));
  const Ended wrong = bert_train("predict r wrong.csv");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.output, HasSubstr("wrong.csv has no column 'text': it has id, txt"));
}

// docs/acceptance.md, Data: Rows come from several files or from a folder.
TEST_F(Predict, ReadsAFolderAsEvaluationDoes) {
  std::filesystem::create_directory(path("parts"));
  std::ofstream(path("parts/1.csv")) << "text,label\nred stone,yes\nblue,no\n";
  std::ofstream(path("parts/2.jsonl")) << "{\"label\": \"no\", \"text\": \"blue stone\"}\n";
  std::ofstream(path("more.csv")) << "text,label\nred,yes\n";
  EXPECT_EQ(bert_train("eval r parts --also more.csv --out e.csv").code, 0);
  const std::string rows = output_of(kBinDir + "/bert_train predict r parts --also more.csv");
  EXPECT_EQ(rows, read(path("e.csv")));
  EXPECT_THAT(rows, HasSubstr("\n3,3,no,"));
  EXPECT_THAT(rows, HasSubstr("\n4,4,yes,"));
  const std::string first = predict_input("red\nblue\n", "r - --limit 1").output;
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 2) << first;

  const char* train =
      "parts/1.csv --also parts/2.jsonl --also more.csv --model tiny --steps 2 "
      "--batch 2 --vocab r/model/vocab.txt --store s.sqlite --run several";
  const Ended trained = bert_train(train);
  EXPECT_EQ(trained.code, 0) << trained.output;
  EXPECT_EQ(bert_train("eval several --on train").code, 0);
  const Ended store = bert_train("s.sqlite --also more.csv");
  EXPECT_EQ(store.code, 2);
  EXPECT_THAT(store.output, HasSubstr("--also adds the rows of files, and s.sqlite is a store\n"));
}

TEST_F(Predict, ReadsStandardInputAsItComes) {
  const std::string both = predict_input("red stone\nblue", "r -").output;
  EXPECT_EQ(std::count(both.begin(), both.end(), '\n'), 3) << both;
  const Ended json = predict_input("{\"text\": \"red stone\", \"label\": \"no\"}\n",
                                   "r - --format jsonl --out-format jsonl");
  const auto row = nlohmann::json::parse(json.output);
  EXPECT_EQ(row["label"], "no");
  EXPECT_NEAR(row["p_no"].get<double>() + row["p_yes"].get<double>(), 1, 1e-5);
  // The second line is written only after the first one's prediction was read: a program that
  // waits for the end of its input would wait forever.
  const Ended ended = in_folder(
      "mkfifo in && timeout 60 " + kBinDir +
      "/bert_train predict r - < in | { exec 3> in; echo red stone >&3; read -r header; "
      "read -r first; echo blue >&3; read -r second; exec 3>&-; echo $first; echo $second; }; "
      "rm in");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, StartsWith("1,1,,"));
  EXPECT_THAT(ended.output, HasSubstr("\n2,2,,"));
}

TEST_F(Predict, RefusesWhatItCannotDo) {
  const auto refused = [](const Ended& ended, int code, const std::string& text) {
    EXPECT_EQ(ended.code, code) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr(text));
  };
  refused(in_folder(kBinDir + "/bprun -n 2 bert_train predict r other.csv"), 2,
          "predict runs as one process");
  refused(bert_train("predict r other.csv --on test"), 2, "hint: leave out --on\n");
  refused(bert_train("predict r"), 2, "DATA is required");
  refused(predict_input("a,b\n", "r - --format csv"), 2,
          "a table cannot be read from standard input");
  refused(predict_input("{\"txt\": 1}\n", "r - --format jsonl"), 65,
          "standard input, row 1 (line 1): has no key 'text'\nhint: name the key with --text");
  refused(predict_input("caf\xE9\n", "r -"), 65,
          "standard input, line 1: is not UTF-8: byte 0xE9 at offset 3 of the input");
  refused(in_folder("echo red > broken.txt; " + kBinDir +
                    "/bert_train predict r other.csv --vocab broken.txt"),
          65,
          "[PAD]: it is not a BERT vocabulary\nhint: --vocab takes the vocab.txt or the "
          "tokenizer.json of a BERT");
  refused(bert_train("predict r other.csv --out none/p.csv"), 2, "--out: cannot write none/p.csv");
}

// A shell without job control ignores SIGINT in what it starts by '&'.
TEST_F(Predict, ACtrlCLeavesNoHalfFile) {
  const Ended ended = in_folder(
      "mkfifo in; exec 3<>in; env --default-signal=INT " + kBinDir +
      "/bert_train predict r - --out half.csv < in & for i in $(seq 200); do ls half.csv* && "
      "break; "
      "sleep 0.1; done; kill -INT $!; wait $!; code=$?; rm in; LC_ALL=C ls half.csv*; exit $code");
  EXPECT_EQ(ended.code, 130);
  EXPECT_THAT(ended.output, HasSubstr("stopped on request while reading standard input"));
  EXPECT_TRUE(ended.output.ends_with("No such file or directory\n")) << ended.output;
}

std::int64_t lines_of(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

// 20 rows are less than a block, so none of them was computed when the bad one came.
TEST_F(Predict, ABadLineOfAStreamTakesNoOtherRowWithIt) {
  std::string before;
  for (int row = 0; row < 20; ++row) before += concat("red stone ", row, "\n");
  const std::string stream = before + "caf\xE9\nblue\n";
  const Ended stopped = predict_input(stream, "r - 2> error");
  EXPECT_EQ(stopped.code, 65);
  EXPECT_EQ(lines_of(stopped.output), 21) << "the header and the rows before";
  EXPECT_EQ(stopped.output, predict_input(before, "r -").output);
  EXPECT_THAT(read(path("error")), HasSubstr("standard input, line 21"));
  const Ended skipped = predict_input(stream, "r - --on-error skip 2> error");
  EXPECT_EQ(skipped.code, 0);
  EXPECT_THAT(skipped.output, HasSubstr("\n21,21,,,,\n22,22,,"));
  EXPECT_THAT(skipped.output, StartsWith(stopped.output));
  EXPECT_THAT(read(path("error")), HasSubstr("standard input, line 21"));
  EXPECT_THAT(read(path("error")), HasSubstr("; its prediction is empty\n"));

  const Ended json = predict_input(
      "{\"text\":\"red\"}\n{\"text\":\nnull\n{\"text\":\"\xE9\"}\n"
      "{\"text\":\"blue\"}\n",
      "r - --format jsonl --out-format jsonl --on-error skip 2> error");
  EXPECT_EQ(json.code, 0) << read(path("error"));
  EXPECT_EQ(lines_of(json.output), 5);
  EXPECT_THAT(json.output, HasSubstr("{\"sample_id\": 4, \"text_id\": 4, \"label\": \"\", "
                                     "\"prediction\": \"\", \"p_no\": null, \"p_yes\": null}\n"));
  EXPECT_THAT(json.output, HasSubstr("{\"sample_id\": 5, \"text_id\": 5, \"label\": \"\", "
                                     "\"prediction\": \"no\""));
}

TEST_F(Predict, ARowOfAStreamMayLackAKeyAsInAFile) {
  const std::string rows =
      "{\"text\": \"red stone\"}\n{\"other\": 1}\n{\"text\": null}\n{\"text\": \"blue\"}\n";
  std::ofstream(path("some.jsonl")) << rows;
  const Ended file = bert_train("predict r some.jsonl");
  ASSERT_EQ(file.code, 0) << file.output;
  EXPECT_EQ(predict_input(rows, "r - --format jsonl").output, file.output);
  const Ended late = predict_input("{\"text\": \"a\"}\n", "r - --format jsonl --text2 b");
  EXPECT_EQ(late.code, 65);
  EXPECT_THAT(late.output, HasSubstr("each row up to standard input, row 1 (line 1): has no key "
                                     "'b'\nhint: name the key with --text2"));
}

TEST_F(Predict, AColumnOfAnswersThatWasGivenByNumberMayBeAbsent) {
  const Ended trained = bert_train(
      "data.csv --format csv --text 1 --label 2 --header yes --model tiny --steps 1 --max-length "
      "32 "
      "--store numbered.sqlite --run numbered");
  ASSERT_EQ(trained.code, 0) << trained.output;
  std::ofstream(path("texts.csv")) << "text\nred stone\nblue\n";
  const Ended file = bert_train("predict numbered texts.csv");
  ASSERT_EQ(file.code, 0) << file.output;
  EXPECT_EQ(file.output, predict_input("red stone\nblue\n", "numbered -").output);
}

TEST_F(Predict, LabelsInAnotherOrderKeepTheHead) {
  const Ended trained = bert_train(
      "data.csv --model r/model --labels yes,no --steps 1 --lr 1e-12 --warmup 0 "
      "--max-length 32 --store swapped.sqlite --run swapped");
  ASSERT_EQ(trained.code, 0) << trained.output;
  EXPECT_THAT(trained.output, ::testing::Not(HasSubstr("newly initialized")));
  const auto column = [](const std::string& run, int number) {
    return output_of(concat(kBinDir + "/bert_train predict ", run, " other.csv | tail -n +2 | cut ",
                            "-d, -f", number));
  };
  EXPECT_EQ(column("swapped", 4), column("r", 4)) << "the predictions";
  EXPECT_EQ(column("swapped", 5), column("r", 6)) << "of yes";
  EXPECT_EQ(column("swapped", 6), column("r", 5)) << "of no";
}

// Scores and predictions are of the targets, although the model learns standardised ones.
TEST_F(Predict, TargetsOfAnySizeAreLearned) {
  std::ofstream rows(path("large.csv"));
  rows << "text,target\n";
  for (int row = 0; row < 600; ++row) {
    for (int i = 0; i < row % 5; ++i) rows << "red ";
    for (int i = 0; i < row % 3; ++i) rows << "blue ";
    rows << "stone," << 5'000'000 + 1'000'000 * (row % 5 - row % 3) << '\n';
  }
  rows.close();
  const Ended trained = bert_train(
      "large.csv --task regress --model tiny --epochs 8 --batch 16 --max-length 16 --run large");
  ASSERT_EQ(trained.code, 0) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr("the targets are standardised: mean 6"));
  const auto scores = nlohmann::json::parse(read(path("large/summary.json"))).at("test");
  EXPECT_GE(scores.at("pearson").get<double>(), 0.9);
  EXPECT_LT(scores.at("mae").get<double>(), 500'000);
  EXPECT_GT(scores.at("mae").get<double>(), 100);
  EXPECT_EQ(bert_train("eval large large.csv --out e.csv").code, 0);
  EXPECT_EQ(output_of(kBinDir + "/bert_train predict large large.csv"), read(path("e.csv")));
  EXPECT_THAT(read(path("e.csv")), HasSubstr("\n1,1,5e+06,"));
  const Ended tuned = bert_train(
      "large.csv --task regress --model large/model --steps 1 --lr 1e-12 --warmup 0 --max-length "
      "16 "
      "--run tuned");
  EXPECT_EQ(tuned.code, 0) << tuned.output;
  const auto again = nlohmann::json::parse(read(path("tuned/summary.json"))).at("test");
  EXPECT_NEAR(again.at("mae").get<double>(), scores.at("mae").get<double>(), 1)
      << "a model keeps the scale of its head";
}

TEST_F(Predict, AModelOfTransformersWithOneOutputPredictsANumber) {
  std::ofstream(path("numbers.csv")) << "text,target\nred,1.5\nblue,2\ngreen,3\nred stone,4\n";
  const Ended trained = bert_train(
      "numbers.csv --task regress --model tiny --steps 2 --batch 2 --split 1,0,0 --run number");
  ASSERT_EQ(trained.code, 0) << trained.output;
  std::filesystem::copy(path("number/model"), path("hf"));
  auto config = nlohmann::json::parse(read(path("hf/config.json")));
  EXPECT_EQ(config.erase("problem_type"), 1U);
  std::ofstream(path("hf/config.json")) << config.dump();
  const std::string expected = output_of(kBinDir + "/bert_train predict number other.csv");
  const Ended folder = bert_train("predict hf other.csv --max-length 128");
  EXPECT_EQ(folder.code, 0) << folder.output;
  EXPECT_EQ(folder.output, expected);
  EXPECT_EQ(bert_train("predict hf other.csv --task regress").output, expected);
  const Ended classes = bert_train("eval hf other.csv --task classify");
  EXPECT_EQ(classes.code, 65);
  EXPECT_THAT(classes.output, HasSubstr("the only output of hf is a number\nhint: --task regress"));
}

}  // namespace
}  // namespace bp::trainer
