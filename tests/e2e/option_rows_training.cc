#include <utility>

#include "tests/e2e/option_rows.h"
#include "tests/support/places.h"

namespace bp::trainer::test {
namespace {

const std::string kMetrics = "t/metrics.jsonl";
// The rate rises in no step, and the schedule decides it alone.
const std::string kRate = kTrain + "--warmup 0 --lr 1e-2 ";

// The weights are others, and metrics.jsonl has each of `figures`.
OptionRow other(const std::string& covers,
                const std::string& arguments,
                std::vector<std::string> figures = {}) {
  const std::string file = figures.empty() ? "" : kMetrics;
  return {.covers = covers,
          .arguments = arguments,
          .weights = Weights::other,
          .file = file,
          .holds = std::move(figures)};
}

}  // namespace

std::vector<OptionRow> model_rows() {
  return {
      {"model", "data.csv --model tiny --max-length 16 --batch 8 --steps 1 --run t",
       "training tiny (2 layers, hidden 128"},
      {.covers = "family",
       .arguments =
           "data.csv --model tiny --family distilbert --max-length 16 --batch 8 --steps 1 --run t",
       .says = "training tiny of the family distilbert (2 layers, hidden 128",
       .file = "t/model/config.json",
       .holds = {R"("DistilBertForSequenceClassification")", R"("dim": 128)"}},
      {.covers = "max-parameters",
       .arguments = kTrain + "--max-parameters 100",
       .says = "more than 100",
       .code = 77},
      other("dropout", kTrain + "--dropout 0.5"),
      {.covers = "lora lora-alpha lora-dropout lora-targets",
       .arguments = "data.csv --model base/model --max-length 16 --steps 2 --lora 2 --lora-alpha 3 "
                    "--lora-dropout 0.25 --lora-targets key --run t",
       .says = "adapters of rank 2: ",
       .file = "t/model/adapter_config.json",
       .holds = {"\"r\": 2", "\"lora_alpha\": 3", "\"lora_dropout\": 0.25", "\"key\""}},
      {"device", kTrain + "--device cpu", "", Weights::same},
      other("precision", kTrain + "--precision bf16"),
      {.covers = "wire error-feedback",
       .arguments = kTrain + "--wire bf16 --error-feedback",
       .file = "t/config.yaml",
       .holds = {"wire: bf16", "error-feedback: true"},
       .before = "bprun -n 2 "},
      {.covers = "shard",
       .arguments = kTrain + "--shard optimizer",
       .file = "t/config.yaml",
       .holds = {"shard: optimizer"},
       .before = "bprun -n 2 "},
      {.covers = "share",
       .arguments = kTrain + "--share localhost:1",
       .file = "t/metrics.jsonl",
       .holds = {"\"rows\":[8,8]"},
       .before = "bprun -n 2 "},
      {.covers = "share max-tokens",
       .arguments = "data.csv --model shape --steps 1 --max-tokens 40 --run t "
                    "--share localhost:3,127.0.0.1:1",
       .file = "t/metrics.jsonl",
       .holds = {"\"rows\":[", "\"samples\":"},
       .before = "bprun -H localhost:1,127.0.0.1:1 "},
      {.covers = "share",
       .arguments = kTrain,
       .file = "t/metrics.jsonl",
       .holds = {"\"rows\":[12,4]"},
       .before = "bprun -H localhost:1:weight=1.5,127.0.0.1:1:weight=0.5 "},
      {.covers = "share",
       .arguments = kTrain,
       .says = "BP_HOST_WEIGHTS=1,x is not a number above 0 for each host",
       .code = 2,
       .before = "bprun -H localhost:1,127.0.0.1:1 env BP_HOST_WEIGHTS=1,x " + kBinDir + "/"},
      {.covers = "share",
       .arguments = kTrain + "--share a:1",
       .says = "give each a share: localhost",
       .code = 2,
       .before = "bprun -n 2 "},
      {.covers = "shard",
       .arguments = kTrain + "--shard parameters --ema 0.9",
       .says = "--ema reads all weights after each step",
       .code = 2},
      {.covers = "reduce-each",
       .arguments = kTrain + "--shard gradients --reduce-each --accumulate 2",
       .file = "t/config.yaml",
       .holds = {"reduce-each: true"},
       .before = "bprun -n 2 "},
      {.covers = "reduce-each",
       .arguments = kTrain + "--shard optimizer --reduce-each",
       .says = "--reduce-each has no effect without --shard gradients",
       .code = 2},
      {.covers = "reduce-each",
       .arguments = kTrain + "--shard gradients --reduce-each --wire bf16",
       .says = "--reduce-each: a narrow --wire would round",
       .code = 2},
      {.covers = "shard-shares",
       .arguments = kTrain + "--shard gradients --shard-shares a:1",
       .says = "give each a share: localhost",
       .code = 2,
       .before = "bprun -n 2 "},
      {.covers = "loss-scale",
       .arguments = kTrain + "--loss-scale 1024",
       .weights = Weights::same,  // a power of two
       .file = kMetrics,
       .holds = {"\"loss_scale\":1024"}},
      {.covers = "threshold",
       .arguments = "several.csv --multi-label --label-separator semicolon --threshold 0.9 --model "
                    "shape --max-length 16 --steps 1 --run t",
       .file = "t/model/config.json",
       .holds = {"\"bp_threshold\": 0.9"}},
  };
}

std::vector<OptionRow> step_rows() {
  return {
      {.covers = "epochs",
       .arguments = kEpochs + "--epochs 2",
       .weights = Weights::other,
       .file = "t/summary.json",
       .holds = {"\"epochs\": 2,", "\"steps\": 12,"}},
      {.covers = "steps",
       .arguments = kEpochs + "--steps 2",
       .weights = Weights::other,
       .file = "t/summary.json",
       .holds = {"\"steps\": 2,"}},
      other("batch", "data.csv --model shape --max-length 16 --steps 3 --run t --batch 4",
            {"\"samples\":12,"}),
      other("max-tokens",
            "data.csv --model shape --max-length 16 --steps 3 --max-tokens 40 --run t"),
      other("accumulate", kTrain + "--accumulate 2", {"\"samples\":48,"}),
      other("curriculum", kTrain + "--curriculum 1"),
      other("group-lengths", kTrain + "--group-lengths 8"),
      other("optimizer", kTrain + "--optimizer lamb"),
      other("lr", kTrain + "--lr 3e-4", {"\"lr\":0.0003,"}),
      other("schedule", kRate + "--schedule constant",
            {"\"step\":3,\"epoch\":0.5,", "\"lr\":0.01,"}),
      other("end-lr power", kRate + "--schedule polynomial --end-lr 1e-3 --power 2",
            {"\"lr\":0.005,", "\"lr\":0.002,"}),
      other("decay-every decay-factor",
            kRate + "--schedule step --decay-every 1 --decay-factor 0.5",
            {"\"lr\":0.005,", "\"lr\":0.0025,"}),
      other("cycle", kRate + "--schedule cyclic --cycle 4", {"\"lr\":0.005,", "\"lr\":0,"}),
      other("force-anneal",
            "data.csv --model shape --max-length 16 --batch 16 --epochs 2 --warmup 0 --lr 6e-3 "
            "--force-anneal 2 --run t",
            {"\"step\":6,\"epoch\":2,", "\"lr\":0.004,"}),
      other("warmup", kTrain + "--warmup 1 --lr 3e-3", {"\"lr\":0.001,", "\"lr\":0.003,"}),
      other("weight-decay", kTrain + "--weight-decay 0.5"),
      other("betas", kTrain + "--betas 0.5,0.9"),
      other("epsilon", kTrain + "--epsilon 0.1"),
      {.covers = "momentum nesterov",
       .arguments = kTrain + "--optimizer sgd --momentum 0.9 --nesterov",
       .weights = Weights::other,
       .file = "t/checkpoints/latest/optimizer.safetensors",
       .holds = {"momentum_buffer"}},
      other("rho", kTrain + "--optimizer adadelta --rho 0.5"),
      other("clip", kTrain + "--clip 0.001"),
      other("seed", kTrain + "--seed 7 --data-seed 1"),
  };
}

std::vector<OptionRow> loss_rows() {
  return {
      other("label-smoothing", kTrain + "--label-smoothing 0.3"),
      other("focal-gamma", kTrain + "--focal-gamma 2"),
      {.covers = "class-weights",
       .arguments = kTrain + "--class-weights balanced",
       .weights = Weights::other,
       .file = "t/model/config.json",
       .holds = {"bp_class_weights"}},
      other("r-drop", kTrain + "--r-drop 1", {"r_drop_loss"}),
      other("vat vat-eps vat-xi", kTrain + "--vat 1 --vat-eps 3 --vat-xi 0.5", {"vat_loss"}),
      other("teacher distill-temperature distill-weight distill-hidden",
            kTrain +
                "--teacher base --distill-temperature 3 --distill-weight 0.9 --distill-hidden 1 "
                "--vocab base/model/vocab.txt --store teacher.sqlite",
            {"soft_loss", "hidden_loss"}),
      {.covers = "freeze",
       .arguments = kTrain + "--freeze embeddings",
       .weights = Weights::other,
       .file = "t/summary.json",
       .holds = {"\"trained\": 0,"}},
      other("unfreeze-every", kTrain + "--unfreeze-every 2"),
      other("layer-decay", kTrain + "--layer-decay 0.5"),
      {.covers = "ema",
       .arguments = kTrain + "--ema 0.9",
       .weights = Weights::other,
       .file = "t/checkpoints/latest/optimizer.safetensors",
       .holds = {"weight."}},
      other("swa-from", kTrain + "--swa-from 0.1"),
      {"checkpoint-activations", kTrain + "--checkpoint-activations", "", Weights::same},
      {"check-gradients", kTrain + "--check-gradients 1", "", Weights::same},
      {"detect-anomaly", kTrain + "--detect-anomaly", "", Weights::same},
      {"overfit", kTrain + "--overfit 8", "train accuracy", Weights::other},
      {"fast-dev-run", kTrain + "--fast-dev-run", "the fast dev run worked: 2 steps"},
  };
}

std::vector<OptionRow> evaluation_rows() {
  return {
      {"eval-every", kTrain + "--eval-every 1", "step 1, epoch ", Weights::same},
      {.covers = "best-metric",
       .arguments = kTrain + "--best-metric loss",
       .weights = Weights::same,
       .file = "t/summary.json",
       .holds = {"\"best_metric\": \"loss\""}},
      {"eval-first", kTrain + "--eval-first", "step 0, epoch 0: dev accuracy", Weights::same},
      {"patience min-improvement", kTrain + "--eval-every 1 --patience 1 --min-improvement 2",
       "ended after step 2: the accuracy of dev did not improve in 1 evaluation", Weights::other},
      {"target-score", kTrain + "--eval-every 1 --target-score 0",
       "ended after step 1: ", Weights::other},
      {"max-time", kEpochs + "--steps 1000000 --max-time 1s", "of --max-time have passed"},
      {.covers = "final",
       .arguments = kTrain + "--eval-every 1 --final best",
       .says = "the model is that of step ",
       .file = "t/summary.json",
       .holds = {"\"weights\": \"best\""}},
  };
}

}  // namespace bp::trainer::test
