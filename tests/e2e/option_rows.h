// What each option of bert_train does, as rows that options_test.cc runs.
#pragma once

#include <string>
#include <vector>

namespace bp::trainer::test {

// The weights of the run t that a row trains, beside those of the run `base`.
enum class Weights { any, same, other };
inline constexpr Weights kSame = Weights::same;
inline constexpr Weights kOther = Weights::other;

struct OptionRow {
  std::string covers;     // options, with blanks between them: "lr warmup", "eval/on"
  std::string arguments;  // of bert_train
  std::string says = {};  // the output has this
  Weights weights = Weights::any;
  std::string file = {};                // is there afterwards
  std::vector<std::string> holds = {};  // and has these
  std::string like = {};                // the same but for the time in it
  std::string unlike = {};              // another one
  std::string absent = {};              // is not there
  int code = 0;
  std::string before = {};  // words before bert_train: another program that runs it
};

// `base` was trained by this, on 60 rows of data.csv.
inline const std::string kBase =
    "data.csv --model shape --max-length 16 --batch 8 --steps 3 --run base";
// The same as the run t, to which a row adds an option.
inline const std::string kTrain =
    "data.csv --model shape --max-length 16 --batch 8 --steps 3 --run t ";
inline const std::string kEpochs = "data.csv --model shape --max-length 16 --batch 8 --run t ";

[[nodiscard]] std::vector<OptionRow> data_rows();
[[nodiscard]] std::vector<OptionRow> model_rows();
[[nodiscard]] std::vector<OptionRow> step_rows();
[[nodiscard]] std::vector<OptionRow> loss_rows();
[[nodiscard]] std::vector<OptionRow> evaluation_rows();
[[nodiscard]] std::vector<OptionRow> output_rows();
[[nodiscard]] std::vector<OptionRow> task_rows();  // of all tasks but classify
[[nodiscard]] std::vector<OptionRow> shard_rows();
[[nodiscard]] std::vector<OptionRow> command_rows();  // of the other commands

}  // namespace bp::trainer::test
