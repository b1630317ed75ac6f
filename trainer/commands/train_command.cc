#include <errno.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/launch_command.h"
#include "base/text.h"
#include "bp/environment.h"
#include "bp/log.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/commands/command_line.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/model_source.h"
#include "trainer/commands/results.h"
#include "trainer/data/stop_signals.h"
#include "trainer/data/whole_file.h"
#include "trainer/model/weights.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/schedule.h"
#include "trainer/report/confusions.h"
#include "trainer/report/report.h"
#include "trainer/report/scores.h"
#include "trainer/run/command_again.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_settings.h"
#include "trainer/run/start.h"
#include "trainer/run/store_users.h"
#include "trainer/run/tell_bprun.h"
#include "trainer/share/shared_data.h"
#include "trainer/train/evaluate.h"
#include "trainer/train/loop.h"
#include "trainer/train/summation.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

// Empty for bprun, which prints this itself.
std::string started_by(const Environment& environment) {
  const bool engine = environment.launcher != "none" && environment.launcher != "bprun";
  return engine ? concat(", started by ", environment.launcher, " (", environment.found_by, ")")
                : "";
}

// Each rank checks its own host.
void warn_of_slow_products(Precision precision) {
  if (has_fast_products(precision)) return;
  log(LogLevel::warn,
      "--precision bf16 is many times as slow as fp32 on this processor, which has no AVX-512");
}

std::vector<Host> hosts_of(const Topology& topology) {
  std::vector<Host> hosts;
  for (int i = 0; i < topology.hosts(); ++i) {
    hosts.push_back({topology.host_name(i), topology.local_sizes[static_cast<std::size_t>(i)]});
  }
  return hosts;
}

// One run, from its folder to its report.
class Run {
 public:
  Run(Communicator& world, Options options)
      : world_(world), options_(std::move(options)), source_(find_model(options_.model)) {
    if (options_.run.empty()) options_.run = default_run(options_.data);
    prepare_for(source_, options_);
    if (writes()) {
      folder_ =
          RunFolder::open(options_.run, options_.resume == "never" ? RunFolder::IfExists::refuse
                                                                   : RunFolder::IfExists::reuse);
    }
  }
  // A run that could not start leaves no folder behind.
  ~Run() {
    if (folder_) folder_->remove_if_empty();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  int operator()() {
    open_data();
    decide();
    start();
    const TrainResult result = train_model();
    if (!result.stopped) {
      if (writes()) save();
      if (finish(result)) return 0;
    }
    if (writes()) print_how_to_resume(result);
    return stop_exit_code();
  }

 private:
  [[nodiscard]] bool writes() const { return world_.rank() == 0; }
  void say(const std::string& text) const {
    if (writes()) print_line(text);
  }

  void open_data() {
    store_path_ =
        prepare_everywhere(world_, options_, [this](const std::string& text) { say(text); });
    store_.emplace(SampleStore::open(store_path_));
    model_ = make_model(source_, options_, *store_, [this](const std::string& text) { say(text); });
    label_map_ = map_labels(*store_, *model_);
  }

  // Chooses the values that the command line left open.
  void decide() {
    const BertConfig& config = model_->config();
    const auto decide = [this](const std::string& key, const std::string& value) {
      set(options_.settings, {key, value, "default"});
    };
    if (options_.lr == 0) {
      options_.lr = default_learning_rate(config.hidden, source_.pretrained());
      decide("lr", concat(options_.lr));
    }
    if (options_.epochs == 0) {
      options_.epochs = default_epochs(source_.pretrained());
      decide("epochs", concat(options_.epochs));
    }
    if (options_.dropout < 0) decide("dropout", concat(config.hidden_dropout));
    if (options_.run == default_run(options_.data)) decide("run", options_.run);
    if (options_.steps == 0) decide("steps", "");
    if (options_.eval_every == 0) decide("eval-every", "");
    if (options_.save_every == 0) decide("save-every", "");
  }

  void start() {
    const CurrentRun current{options_.settings,  options_.seed,
                             store_->identity(), store_->size(Split::train),
                             model_->config(),   summation_of(world_, *model_)};
    start_ = agree_on_start(world_, options_, folder_ ? &*folder_ : nullptr, current,
                            [this](const std::string& text) { say(text); });
    warn_of_slow_products(options_.precision);
    if (!writes()) return;
    prepare_folder(*folder_, start_);
    tell_bprun(world_.store(), resume_words(start_.own));
    require_space(folder_->path(), count_parameters(*model_), {options_.keep, options_.keep_best});
    const BertConfig& config = model_->config();
    write_whole_file(folder_->file("config.yaml"), settings_yaml(options_.settings));
    list_store_user(store_path_, folder_->path());
    say(concat("training ", source_.name, " (", config.layers, " layers, hidden ", config.hidden,
               ", ", config.vocabulary, " words, ", config.labels.size(), " labels) on ",
               store_->size(Split::train), " samples, ", world_.size(),
               world_.size() == 1 ? " rank" : " ranks", started_by(Environment::current())));
  }

  TrainResult train_model() {
    TrainJob job;
    job.store = store_path_;
    job.rows = store_->size(Split::train);
    job.lr = options_.lr;
    job.main_score = accuracy_score();
    job.start = start_.state;
    job.evaluate = [this]() -> DevScores {
      if (store_->size(Split::dev) == 0) return {};
      const Evaluation evaluation = score(Split::dev);
      return {summary_of(scores_of(evaluation.tally)), evaluation.stopped};
    };
    if (!writes()) return train(world_, options_, job, *model_);

    CheckpointsOptions saving{folder_->checkpoints(), options_.keep};
    if (start_.own) saving.last = start_.state.step;
    saving.moments = moment_names(options_);
    saving.texts = model_texts(model_->config(), tokenizer_files());
    saving.before_publishing = [this] { folder_->require_lease(); };
    bool told = start_.own;
    saving.published = [this, &told] {
      if (!std::exchange(told, true)) tell_bprun(world_.store(), resume_words(true));
    };
    Checkpoints checkpoints(saving, *model_);
    job.metrics = folder_->file("metrics.jsonl");
    job.resumed = start_.folder;
    job.stop_file = stop_file(folder_->path());
    job.checkpoints = &checkpoints;
    return train(world_, options_, job, *model_);
  }

  [[nodiscard]] TokenizerFiles tokenizer_files() const {
    return {store_->vocabulary(), store_->lower_case(), model_->config().positions};
  }

  void save() { save_model(*model_, tokenizer_files(), folder_->file("model")); }

  void print_how_to_resume(const TrainResult& result) const {
    std::error_code ignored;  // the next run must not see this request
    fs::remove(stop_file(folder_->path()), ignored);
    say(concat("stopped on request after step ", result.end.step, "; saved in ",
               CheckpointFolder(folder_->checkpoints()).of_step(result.end.step)));
    Launched launched{program_invocation_name, ""};
    const char* const command = std::getenv(kLaunchCommand);
    if (command != nullptr && Environment::current().launcher == "bprun") {
      launched.command = command;
    }
    say(concat("resume with: ", command_again(launched, resume_words(true))));
  }

  [[nodiscard]] ResumeWords resume_words(bool saved) const {
    return arguments_again({options_.arguments, options_.resume, saved});
  }

  // Scores the finished model and writes the results. Returns false if it was asked to stop.
  bool finish(const TrainResult& trained) {
    RunSummary summary;
    summary.model = options_.model;
    summary.world = world_.size();
    summary.hosts = world_.topology().hosts();
    summary.steps = trained.end.step;
    summary.epochs = trained.epochs;
    summary.train = trained.summary;
    summary.dev = trained.end.dev;
    summary.comm.bytes = trained.end.totals.gradient_bytes;
    summary.comm.seconds_exposed = trained.end.totals.seconds_exposed;

    std::optional<EvaluationDetail> detail;
    if (const std::optional<Split> split = judged_split(*store_)) {
      const Evaluation evaluation = score(*split);
      if (evaluation.stopped) return false;
      if (!writes()) return true;
      if (*split == Split::test) summary.test = summary_of(scores_of(evaluation.tally));
      Scored scored{evaluation, *store_, *split, label_map_, model_->config().labels};
      scored.predictions = folder_->file("predictions.csv");
      write_predictions(scored.predictions, scored);
      print_scores(scored);
      if (evaluation.tally.samples() > 0) {
        write_tables_of_classes(evaluation.tally);
        detail = EvaluationDetail{name_of(*split), evaluation.tally, worst_rows(scored)};
      }
    }
    if (!writes()) return true;
    write_summary(summary, std::move(detail));
    print_line("model   " + folder_->file("model"));
    print_line("report  " + folder_->file("report.html"));
    return true;
  }

  // The terminal and the report show these only for few labels.
  void write_tables_of_classes(const Tally& tally) const {
    const std::vector<std::string>& labels = model_->config().labels;
    write_whole_file(folder_->file("classes.csv"), classes_csv(tally, labels));
    write_whole_file(folder_->file("confusion.csv"), confusion_csv(tally, labels));
    if (labels.size() > kMostInMatrix) {
      print_line(
          concat("labels  ", folder_->file("classes.csv"), ", ", folder_->file("confusion.csv")));
    }
  }

  // The report comes last: if it exists, all other files do, even after a power cut.
  void write_summary(const RunSummary& summary, std::optional<EvaluationDetail> detail) const {
    sync_file(folder_->file("metrics.jsonl"));
    write_whole_file(folder_->file("summary.json"), to_json(summary));
    Report report;
    report.title = options_.run;
    report.summary = summary;
    report.metrics = read_metrics(folder_->file("metrics.jsonl"));
    report.main_score = accuracy_score().key;
    report.labels = model_->config().labels;
    report.evaluation = std::move(detail);
    report.settings = options_.settings;
    report.hosts = hosts_of(world_.topology());
    write_whole_file(folder_->file("report.html"), render_report(report));
  }

  Evaluation score(Split split) { return evaluate(world_, *model_, *store_, split, label_map_); }

  Communicator& world_;
  Options options_;
  ModelSource source_;
  std::optional<RunFolder> folder_;  // rank 0 only
  std::string store_path_;
  std::optional<SampleStore> store_;
  std::unique_ptr<Bert> model_;
  std::vector<int> label_map_;
  ResumePoint start_;
};

}  // namespace

int run_train(Communicator& world, Options options) { return Run(world, std::move(options))(); }

}  // namespace bp::trainer
