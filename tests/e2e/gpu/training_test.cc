// Each kind of training computes the same numbers on a GPU as on the CPU.
#include <gmock/gmock.h>

#include <fstream>
#include <ostream>
#include <string>

#include "tests/e2e/gpu/gpu_runs.h"
#include "tests/e2e/task_data.h"

namespace bp::trainer {
namespace {

using test::Numbers;
using ::testing::HasSubstr;

struct TrainingCase {
  std::string name;
  std::string data;          // with the options of its task
  std::string options = {};  // of training
  double tolerance = 1e-5;   // of losses, scores and, ten times, norms of gradients
};
void PrintTo(const TrainingCase& one, std::ostream* out) { *out << one.name; }

constexpr const char* kPairs = "pairs.csv --text premise --text2 hypothesis ";
constexpr const char* kLabels = "labels.csv --multi-label --label-separator semicolon ";
constexpr double kOfHalves = 2e-3;  // tolerance

class GpuTraining : public test::GpuRuns<GpuTraining>,
                    public ::testing::WithParamInterface<TrainingCase> {
 protected:
  static void SetUpTestSuite() {
    make_folder();
    ::setenv("FAKE_CUDA_DELAY_US", "0", 1);  // ranks_test.cc has delays
    write("sums.csv", test::write_sums);
    write("labels.csv", test::write_labels);
    write("pairs.csv", test::write_pairs);
    write("runs.txt", test::write_runs);
    write("names.conll", test::write_names);
    write("pronouns.tsv", test::write_pronouns);
    write("documents.txt", test::write_documents);
    const std::string narrow =
        "mkdir narrow && echo \"{\\\"model_type\\\": \\\"bert\\\", \\\"vocab_size\\\": 100, "
        "\\\"hidden_size\\\": 32, \\\"num_hidden_layers\\\": 1, \\\"num_attention_heads\\\": 2, "
        "\\\"intermediate_size\\\": 64}\" > narrow/config.json";
    // A model to begin with, or to learn from.
    run_together(narrow, test::kMakeVocabulary,
                 bert_train(concat(kPairs, kSmall,
                                   "--store first.sqlite --run first "
                                   "--device cpu")));
  }
  static void write(const std::string& name, void (*rows)(std::ofstream&)) {
    std::ofstream file(path(name));
    rows(file);
  }
  // On 80 % of 120 rows.
  static constexpr const char* kSmall = "--limit 120 --max-length 32 --batch 16 --steps 4 ";
};

// Only losses are compared in halves, where a score of few rows jumps with the last digits.
Numbers compared(Numbers numbers, double tolerance) {
  if (tolerance >= kOfHalves) {
    std::erase_if(numbers, [](const auto& one) {
      return !one.first.ends_with(" loss") && !one.first.ends_with("skipped") &&
             !one.first.ends_with("loss_scale");
    });
  }
  return numbers;
}

// docs/acceptance.md, Devices: bert_train computes on a GPU what it computes on the CPU, with every
// task, optimizer and precision: within 1e-5 in fp32, and losses within 2e-3 in halves.
TEST_P(GpuTraining, ComputesTheNumbersOfTheCpu) {
  const auto& [name, data, options, tolerance] = GetParam();
  const auto command = [&](const std::string& device) {
    const std::string run = concat(name, ".", device);
    return bert_train(concat(data, options.find("--epochs") == std::string::npos ? kSmall : "",
                             options, " --store ", run, ".sqlite --run ", run, " --device ",
                             device));
  };
  run_together(command("cpu"), command("cuda"));
  test::expect_near(compared(numbers(name + ".cpu"), tolerance),
                    compared(numbers(name + ".cuda"), tolerance), tolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Tasks,
    GpuTraining,
    ::testing::Values(
        TrainingCase{"epoch", kPairs, "--limit 250 --max-length 32 --batch 16 --epochs 1"},
        TrainingCase{"labels", kLabels, "--class-weights balanced"},
        TrainingCase{"regress", "sums.csv --task regress "},
        TrainingCase{"tokens", "names.conll --task tokens "},
        TrainingCase{"gap", "pronouns.tsv --task gap "},
        TrainingCase{"pretrain", "runs.txt --task pretrain "},
        TrainingCase{"next_sentence",
                     "documents.txt --task pretrain --next-sentence --vocab vocab.txt "}),
    [](const auto& parameter) { return parameter.param.name; });

// Options that do not concern each other share a case. In VAT rounding decides the direction of a
// perturbation where the outputs hardly depend on the embeddings, which the noise and the seed
// avoid here.
INSTANTIATE_TEST_SUITE_P(
    Options,
    GpuTraining,
    ::testing::Values(
        TrainingCase{"lora", kPairs,
                     "--model first/model --lora 4 --lora-targets query,value,dense"},
        TrainingCase{"teacher", kPairs,
                     "--model narrow --vocab first/model/vocab.txt --teacher first/model "
                     "--distill-hidden 0.5"},
        TrainingCase{"r_drop", kPairs, "--r-drop 1"},
        TrainingCase{"vat", kPairs, "--vat 0.1 --vat-xi 1 --seed 2"},
        TrainingCase{"adam_ema", kPairs, "--optimizer adam --ema 0.9"},
        TrainingCase{"sgd_swa_accumulate", kPairs,
                     "--optimizer sgd --lr 0.05 --swa-from 0.5 --accumulate 2"},
        TrainingCase{"momentum_checkpoint_activations", kPairs,
                     "--optimizer sgd --lr 0.05 --momentum 0.9 --nesterov "
                     "--checkpoint-activations"},
        TrainingCase{"lamb_weights", kPairs,
                     "--optimizer lamb --lr 1e-2 --class-weights balanced --label-smoothing 0.05 "
                     "--focal-gamma 1"},
        TrainingCase{"lion_frozen", kPairs,
                     "--optimizer lion --lr 1e-4 --model first/model --freeze embeddings "
                     "--unfreeze-every 2 --layer-decay 0.8"},
        TrainingCase{"adadelta_checks", kPairs,
                     "--optimizer adadelta --lr 1 --check-gradients 1 --detect-anomaly "
                     "--eval-first --eval-every 2 --final best --trace trace --tensorboard "
                     "events"}),
    [](const auto& parameter) { return parameter.param.name; });

// The first steps in fp16 are skipped where the loss is scaled by 4e6.
INSTANTIATE_TEST_SUITE_P(
    Halves,
    GpuTraining,
    ::testing::Values(
        TrainingCase{"bf16", kPairs, "--precision bf16", kOfHalves},
        TrainingCase{"fp16", kPairs, "--precision fp16 --loss-scale 4e6", kOfHalves},
        TrainingCase{"tokens_fp16", "names.conll --task tokens ",
                     "--precision fp16 --accumulate 2 --checkpoint-activations", kOfHalves},
        TrainingCase{"labels_fp16", kLabels, "--precision fp16", kOfHalves},
        TrainingCase{"pretrain_bf16", "runs.txt --task pretrain ", "--precision bf16", kOfHalves}),
    [](const auto& parameter) { return parameter.param.name; });

// The hundredth piece of memory is one of the first step.
TEST_F(GpuTraining, OutOfMemoryGetsTheAdviceOfTheCpu) {
  const test::Ended ended = in_folder(
      "FAKE_CUDA_FAIL=cudaMalloc:100:2 " +
      bert_train(concat(kPairs, kSmall, "--store memory.sqlite --run memory --device cuda")));
  EXPECT_EQ(ended.code, 70);
  EXPECT_THAT(ended.output, HasSubstr("bert_train: out of memory at step 1, in a batch of 16 "));
  EXPECT_THAT(ended.output, HasSubstr("\nhint: try --max-length "));
}

}  // namespace
}  // namespace bp::trainer
