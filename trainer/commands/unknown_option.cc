#include "trainer/commands/unknown_option.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/options/value_text.h"
#include "base/text.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

constexpr std::string_view kNotNeeded = "bert_train needs no such option; leave it out";

// A name stands in one row. The order is that of what the options are about.
constexpr std::array kForeign{
    // ranks and hosts
    ForeignOption{"n np nproc nprocs nproc-per-node world-size distributed-world-size",
                  "the number of ranks is bprun's: bprun -n 2 bert_train ..."},
    ForeignOption{
        "nodes nnodes current-node node-rank master-addr master-port master-node "
        "start-rank global-rank distributed-rank distributed-init-method "
        "distributed-no-spawn distributed-port is-distributed servers-file "
        "started-from-launch use-horovod net-name isaml ddp-timeout local-rank",
        "hosts and ranks are bprun's: bprun -H a:3,b:1 bert_train ... (docs/coming-from.md)"},
    ForeignOption{"gpus gpu-num distributed-gpus device-id gpu-inference num-gpus",
                  "GPUs are bprun's: bprun -n 2 --gpus all bert_train ..."},
    ForeignOption{"backend backhand ddp-backend distributed-backend",
                  "BP_BACKEND=NAME chooses one (docs/backends.md); without it bp chooses itself"},
    ForeignOption{"bucket-cap-mb ddp-bucket-cap-mb find-unused-parameters "
                  "ddp-find-unused-parameters ddp-broadcast-buffers fast-stat-sync "
                  "fix-batches-to-gpus batch-dim eval-use-gather-object split-batches "
                  "average-tokens-across-devices dispatch-batches",
                  kNotNeeded},
    ForeignOption{"use-bmuf",
                  "ranks share the gradient of each step; --wire bf16 halves its bytes"},
    ForeignOption{
        "fsdp fsdp-config fsdp-min-num-params fsdp-transformer-layer-cls-to-wrap deepspeed "
        "sharded-ddp use-fairscale-optimizer-sharding use-fairscale-model-sharding "
        "use-fairscale-autowrap use-fairscale-reshard-forward accelerator-config "
        "parallelism-config",
        "each rank holds the whole model; --checkpoint-activations and --accumulate need less "
        "memory"},
    ForeignOption{"tpu-num-cores tpu-metrics-debug use-mps-device use-ipex use-xpu xpu-backend "
                  "mp-parameters ray-scope",
                  "bert_train computes on CPUs and NVIDIA's GPUs: --device"},
    // data
    ForeignOption{
        "task-name data train-file train-files dataset-name dataset-config-name data-dir input-dir "
        "train-dir dataset data-source-path",
        "the file to train on needs no option: bert_train DATA"},
    ForeignOption{
        "train-subset valid-subset train-split-name validation-split-name test-split-name "
        "is-dev-file shuffle-train-dataset remove-splits validation-split-percentage",
        "--dev FILE, --test FILE and --split name the parts of the data"},
    ForeignOption{"preponly p", "bert_train prep DATA prepares the store only"},
    ForeignOption{"num-labels num-classes", "labels are counted: each different one is a class"},
    ForeignOption{"max-eval-samples max-predict-samples max-test-samples eval-limit",
                  "--limit N reads the first N rows of each file"},
    ForeignOption{"train-sample-num",
                  "rows are counted; --limit N reads the first N rows of each file"},
    ForeignOption{"max-pred-length", "--mask-share says how many tokens are masked"},
    ForeignOption{"use-max-length pad-to-max-length pad-to-multiple-of",
                  "samples are not padded to a fixed length; --max-length is the most"},
    ForeignOption{"num-workers num-loader-workers num-workers-loading-data dataloader-num-workers "
                  "preprocessing-num-workers dataloader-pin-memory dataloader-persistent-workers "
                  "dataloader-prefetch-factor dataloader-multiprocessing-context",
                  "samples come from the store without readers of their own; OMP_NUM_THREADS sets "
                  "the threads"},
    ForeignOption{"num-threads-cpu", "OMP_NUM_THREADS sets the threads of a process"},
    ForeignOption{"dataloader-drop-last drop-last remove-unused-columns label-names past-index "
                  "required-batch-size-multiple streaming",
                  "each row counts once an epoch, and only the named columns; leave it out"},
    ForeignOption{"text-column-delimiter", "a second text is --text2 COLUMN"},
    ForeignOption{"extension-file", "a task of one's own is a small program: docs/tasks.md"},
    // models
    ForeignOption{"cache-dir model-revision token use-auth-token hub-token trust-remote-code "
                  "push-to-hub hub-model-id hub-strategy hub-private-repo hub-always-push "
                  "hub-revision push-to-hub-model-id push-to-hub-organization push-to-hub-token",
                  "bert_train reads model folders and fetches nothing: --model DIR"},
    ForeignOption{"use-fast-tokenizer use-slow-tokenizer",
                  "one tokenizer gives the ids of both; --vocab names its file"},
    ForeignOption{"ignore-mismatched-sizes load-state-dict-strict",
                  "a head that does not fit the data is drawn anew, and a line says so"},
    ForeignOption{"model-type", "--task says what the model learns, --model which encoder"},
    ForeignOption{"path-inference-model", "bert_train predict RUN DATA; RUN/model is the model"},
    ForeignOption{"low-cpu-mem-usage torch-dtype", "weights are read once, as fp32; --precision"},
    // training
    ForeignOption{"do-train do-eval do-predict mode prediction-loss-only do-test",
                  "bert_train DATA trains, evaluates and predicts; bert_train eval RUN DATA and "
                  "bert_train predict RUN DATA do one of them again"},
    ForeignOption{
        "per-device-eval-batch-size per-gpu-eval-batch-size val-batch-size "
        "eval-batch-size max-sentences-valid max-tokens-valid eval-accumulation-steps "
        "batch-eval-metrics",
        "evaluation takes as many samples at once as there are threads for; leave it out"},
    ForeignOption{"adam-beta1 adam-beta2", "both betas are one option: --betas 0.9,0.999"},
    ForeignOption{"optim-args optimizer-overrides optim-target-modules adafactor",
                  "options of the optimizer: --betas, --epsilon, --momentum, --rho"},
    ForeignOption{
        "lr-scheduler-kwargs",
        "options of the schedule: --end-lr, --power, --decay-every, --decay-factor, --cycle"},
    ForeignOption{"min-lr", "--end-lr is where a schedule ends; --epochs or --steps end the run"},
    ForeignOption{"ending-lr-ratio", "--end-lr is that rate itself"},
    ForeignOption{"true-gradient",
                  "the gradient of a step is exact with any --accumulate; leave it out"},
    ForeignOption{"auto-find-batch-size",
                  "a batch that does not fit is computed in pieces; see also --batch auto"},
    ForeignOption{"neftune-noise-alpha", "--vat N trains against noise in the embeddings"},
    ForeignOption{
        "torch-compile torch-compile-backend torch-compile-mode torchdynamo jit-mode-eval "
        "use-liger-kernel liger-kernel-config torch-empty-cache-steps use-cache "
        "gradient-checkpointing-kwargs use-legacy-prediction-loop skip-memory-metrics "
        "save-safetensors",
        kNotNeeded},
    ForeignOption{"tf32", "fp32 means fp32 on a GPU, too; --precision bf16 is faster"},
    ForeignOption{"fp16-opt-level fp16-backend half-precision-backend amp-opt-level",
                  "--precision fp16 or bf16 chooses the type, and there is one way to do it"},
    ForeignOption{"bf16-full-eval fp16-full-eval", "bert_train eval RUN DATA --precision bf16"},
    ForeignOption{"full-determinism cudnn-deterministic cudnn-benchmark",
                  "a run gives the same bits each time, without an option; --seed chooses others"},
    ForeignOption{"debug", "--detect-anomaly, --check-gradients and --trace DIR look for faults"},
    // evaluation
    ForeignOption{
        "eval-strategy evaluation-strategy validate-interval eval-delay "
        "eval-gap-sample-num evaluate-during-training",
        "--eval-every takes steps (100), epochs (1e), rows (5000r), a time (10m), or none"},
    ForeignOption{"disable-validation", "--split 0.9,0,0.1 leaves no dev split to evaluate"},
    ForeignOption{"greater-is-better maximize-best-checkpoint-metric",
                  "the score of --best-metric says itself whether more is better"},
    ForeignOption{"include-inputs-for-metrics include-for-metrics",
                  "RUN/predictions.csv has the predictions, and the report the worst rows"},
    // output
    ForeignOption{"overwrite-output-dir",
                  "another --run begins a new run; remove a folder by hand to use its name again"},
    ForeignOption{
        "save-strategy save-steps-ratio",
        "--save-every takes steps (100), epochs (1e), rows (5000r), a time (10m), or none"},
    ForeignOption{"no-epoch-checkpoints no-last-checkpoints no-save",
                  "--keep-best N keeps the best checkpoints, --keep N the latest, --save-every "
                  "none writes none"},
    ForeignOption{"save-on-each-node", "rank 0 writes all files of a run"},
    ForeignOption{"restore-callback-states-from-checkpoint continue-training",
                  "a run resumes by the same command; --resume PATH takes another checkpoint"},
    ForeignOption{"no-progress-bar disable-tqdm log-format logging-strategy "
                  "logging-first-step logging-nan-inf-filter log-steps-ratio "
                  "include-tokens-per-second include-num-input-tokens-seen",
                  "a terminal shows the progress; RUN/metrics.jsonl has the figures of steps, see "
                  "--log-every"},
    ForeignOption{"logfile log-file f", "bert_train ... 2>&1 | tee FILE, or bprun --output DIR"},
    ForeignOption{"log-level log-level-replica log-on-each-node debug-level verbosity",
                  "BP_LOG=debug prints what the ranks' library does"},
    ForeignOption{"report-to with-tracking project trackio-space-id wandb-project",
                  "--tensorboard DIR and --runs-db FILE take the figures of a run"},
    ForeignOption{"draw-figure-frequency draw-figure-smooth-width charts c",
                  "bert_train report RUN draws the curves; RUN/report.html has them as well"},
    ForeignOption{"country-city",
                  "times are those of this machine: TZ=Asia/Shanghai bert_train ..."},
};

// Returns the first field of the task that is an answer, or is none, if an option names its column;
// else "".
std::string named_field(const TaskInput& task, bool answer) {
  for (const Field& field : task.fields()) {
    if (field.answer == answer) return field.fixed ? "" : field.name;
  }
  return "";
}

bool has_option(TaskInput& task, const std::string& name) {
  OptionSet set("", "");
  task.add_options(set);
  task.add_training_options(set);
  return std::ranges::count(set.options(), name, &Option::name) > 0;
}

}  // namespace

std::span<const ForeignOption> foreign_options() { return kForeign; }

std::string answer_for_foreign(const std::string& word) {
  const std::string wanted = concat(" ", option_name(word), " ");
  for (const ForeignOption& row : kForeign) {
    if (concat(" ", row.names, " ").find(wanted) != std::string::npos) {
      return std::string(row.answer);
    }
  }
  return "";
}

std::string answer_of_tasks(const std::string& word, const TaskOptions& options) {
  const std::string name = option_name(word);
  for (const std::string& other : task_names(options.extensions)) {
    const std::shared_ptr<TaskInput> task = make_input(other, options.extensions);
    if (other == options.task_name || !has_option(*task, name)) continue;
    for (const bool answer : {false, true}) {
      const std::string own = named_field(*options.task, answer);
      if (own.empty() || named_field(*task, answer) != name) continue;
      return concat("in the task ", options.task_name, " it is --", own);
    }
    return concat("--", name, " is an option of --task ", other);
  }
  return "";
}

}  // namespace bp::trainer
