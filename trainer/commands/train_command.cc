#include <errno.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/launch_command.h"
#include "base/text.h"
#include "bp/environment.h"
#include "bp/log.h"
#include "bp/version.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/commands/adapter_source.h"
#include "trainer/commands/command_line.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/model_source.h"
#include "trainer/commands/option_groups.h"
#include "trainer/commands/results.h"
#include "trainer/commands/run_precision.h"
#include "trainer/commands/teacher_source.h"
#include "trainer/data/look_up.h"
#include "trainer/data/numbers.h"
#include "trainer/data/plan.h"
#include "trainer/data/stop_signals.h"
#include "trainer/data/whole_file.h"
#include "trainer/events/event_log.h"
#include "trainer/model/weights.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/schedule.h"
#include "trainer/options/option_set.h"
#include "trainer/options/sampling.h"
#include "trainer/report/lengths_section.h"
#include "trainer/report/report.h"
#include "trainer/report/sessions.h"
#include "trainer/report/shown_text.h"
#include "trainer/run/command_again.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_settings.h"
#include "trainer/run/start.h"
#include "trainer/run/store_users.h"
#include "trainer/run/tell_bprun.h"
#include "trainer/runs/run_record.h"
#include "trainer/runs/runs_database.h"
#include "trainer/share/shared_data.h"
#include "trainer/share/temporary_folder.h"
#include "trainer/tasks/choose_metric.h"
#include "trainer/tasks/write_predictions.h"
#include "trainer/train/distillation.h"
#include "trainer/train/evaluate.h"
#include "trainer/train/forward_blocks.h"
#include "trainer/train/freeze.h"
#include "trainer/train/loop.h"
#include "trainer/train/summation.h"
#include "trainer/train/take_weights.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

// Adapters need a higher learning rate than the weights beside them (docs/bert_train.md).
constexpr double kAdapterRate = 10;

// Returns the names of the options of the task's training.
std::vector<std::string> training_options(TaskInput& task) {
  OptionSet set("", "", "");
  task.add_training_options(set);
  std::vector<std::string> names;
  for (const Setting& setting : set.settings()) names.push_back(setting.key);
  return names;
}

// Empty for bprun, which prints this itself.
std::string started_by(const Environment& environment) {
  const bool engine = environment.launcher != "none" && environment.launcher != "bprun";
  return engine ? concat(", started by ", environment.launcher, " (", environment.found_by, ")")
                : "";
}

std::vector<Host> hosts_of(const Topology& topology) {
  std::vector<Host> hosts;
  for (int i = 0; i < topology.hosts(); ++i) {
    hosts.push_back({topology.host_name(i), topology.local_sizes[static_cast<std::size_t>(i)]});
  }
  return hosts;
}

// Two steps, the smallest evaluations and no checkpoints, which exercise every part of a run.
void shorten(Options& options) {
  options.steps = 2;
  options.eval_every = 0;
  options.save_every = {.by = SaveBy::never};
  options.final_weights = FinalWeights::last;
  options.early_stop = {};
  options.resume = "never";
}

// One run, from its folder to its report.
class Run {
 public:
  Run(Communicator& world, Options options)
      : world_(world),
        options_(std::move(options)),
        source_(find_model(options_.model, *options_.task, options_.extensions)) {
    metric_ = choose_metric(source_.task->metrics(), options_.best_metric, options_.task_name);
    if (!options_.distill.teacher.empty()) teacher_ = find_teacher(options_);
    if (options_.fast_dev_run) {
      shorten(options_);
      temporary_.emplace();
      options_.run = temporary_->path() + "/run";
    }
    if (options_.run.empty()) options_.run = default_run(options_.data);
    require_base(source_, options_);
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
    try {
      return train_and_finish();
    } catch (const std::exception& error) {
      if (session_) session_->end(step_, "failed", error.what());
      if (session_) add_to_database(RunState::failed, {});
      throw;
    }
  }

 private:
  int train_and_finish() {
    TrainResult result = train_model();
    step_ = result.end.step;
    if (!result.stopped) {
      if (result.ended != RunEnd::steps) {
        say(concat("ended after step ", result.end.step, ": ", result.ended_text));
      }
      if (options_.final_weights == FinalWeights::best) take_best_weights(result);
      if (writes()) save();
      if (finish(result)) return 0;
    }
    if (session_) session_->end(step_, "stopped");
    if (session_) add_to_database(RunState::stopped, {});
    if (writes()) print_how_to_resume(result);
    return stop_exit_code();
  }

  // Records that this job works on the run.
  void begin_session() {
    step_ = start_.state.step;
    session_.emplace(folder_->file("sessions.jsonl"),
                     Session{.from_step = step_,
                             .begun = utc_now(),
                             .version = BP_VERSION,
                             .machine = machine_text(),
                             .main_score = metric_,
                             .hosts = hosts_of(world_.topology())},
                     start_.own);
    if (events_) events_->settings(options_.settings);
  }

  // The split that training evaluates.
  [[nodiscard]] Split evaluated() const { return options_.overfit > 0 ? Split::train : Split::dev; }
  [[nodiscard]] bool saves() const { return options_.save_every.by != SaveBy::never; }
  // Whether the model is an average of the weights.
  [[nodiscard]] bool averages() const { return options_.ema > 0 || options_.swa_from > 0; }
  [[nodiscard]] bool writes() const { return world_.rank() == 0; }
  void say(const std::string& text) const {
    if (writes()) print_line(text);
  }

  void open_data() {
    store_path_ =
        prepare_everywhere(world_, options_, [this](const std::string& text) { say(text); });
    store_.emplace(SampleStore::open(store_path_));
    if (options_.overfit > 0) store_->limit(Split::train, options_.overfit);
    constexpr std::int64_t kFewSamples = 2 * kBlockSamples;
    if (options_.fast_dev_run) {
      for (const Split split : {Split::dev, Split::test}) store_->limit(split, kFewSamples);
    }
    use_lengths();
    choose_precision();
    model_ = make_model(source_, options_, *store_, [this](const std::string& text) { say(text); });
    freeze(*model_, options_.freeze);
    if (teacher_) learn_from_teacher();
    if (const LoraConfig* const lora = model_->lora()) {
      std::int64_t all = 0;
      for (const auto& [name, parameter] : model_->parameters()) all += parameter.numel();
      say(concat("adapters of rank ", lora->rank, ": ", with_commas(count_parameters(*model_)),
                 " of ", with_commas(all), " parameters are trained and saved"));
    }
  }

  void use_lengths() {
    if (!needs_lengths(options_)) return;
    lengths_ = std::make_shared<std::vector<std::int32_t>>(store_->lengths(Split::train));
    const std::int32_t longest = lengths_->empty() ? 0 : std::ranges::max(*lengths_);
    if (options_.max_tokens == 0 || longest <= options_.max_tokens) return;
    throw InputError(2,
                     concat("--max-tokens ", options_.max_tokens, ": a sample has ", longest,
                            " tokens, with [CLS] and [SEP]"),
                     concat("give at least ", longest, ", or a smaller --max-length"));
  }

  // Replaces --precision auto, in config.yaml too. So a run that resumes on another machine
  // computes as before.
  void choose_precision() {
    const bool chooses = options_.precision == Precision::automatic;
    if (chooses) {
      options_.precision =
          agree_on_precision(world_, folder_ ? saved_precision(*folder_, options_.resume) : "");
      set(options_.settings, {"precision", std::string(name_of(options_.precision)), "auto"});
    }
    const bool is_bf16 = options_.precision == Precision::bf16;
    if (!chooses && !is_bf16) return;
    say(concat("precision ", name_of(options_.precision), chooses ? ", chosen by auto" : "",
               is_bf16 ? concat(": ", description_of(bf16_products())) : ""));
  }

  void learn_from_teacher() {
    auto teacher = load_teacher(*teacher_, *options_.task, *store_, model_->config());
    say(concat("learning from ", teacher_->name, " (", teacher->config().layers, " layers, hidden ",
               teacher->config().hidden, ")"));
    distillation_.emplace(std::move(teacher), options_.distill, *model_);
    if (model_->lora() == nullptr || !model_->projection().defined()) return;
    throw InputError(2, "--distill-hidden with --lora needs hidden states of the teacher's width",
                     "leave out one of the two");
  }

  // Chooses the values that the command line left open.
  void decide() {
    const BertConfig& config = model_->config();
    const auto decide = [this](const std::string& key, const std::string& value) {
      set(options_.settings, {key, value, "default"});
    };
    if (options_.lr.first() == 0) {
      options_.lr = default_learning_rate(config.hidden, source_.pretrained()) *
                    (options_.lora.rank > 0 ? kAdapterRate : 1);
      decide("lr", concat(options_.lr.first()));
      check_schedule_options(options_);
    }
    if (options_.epochs == 0) {
      options_.epochs = default_epochs(source_.pretrained());
      decide("epochs", concat(options_.epochs));
    }
    if (options_.loss_scale == 0) {
      options_.loss_scale = default_loss_scale(options_.precision);
      decide("loss-scale", options_.loss_scale > 0 ? concat(options_.loss_scale) : "");
    }
    check_lists();
    decide("best-metric", metric_.key);
    if (options_.final_weights == FinalWeights::best) require_dev("--final best");
    if (options_.eval_first) require_dev("--eval-first");
    if (options_.early_stop.patience > 0) require_dev("--patience");
    if (options_.early_stop.target) require_dev("--target-score");
    if (options_.dropout < 0) decide("dropout", concat(config.hidden_dropout));
    if (options_.run == default_run(options_.data)) decide("run", options_.run);
    if (is_divided_by_data(store_->fingerprint())) decide("split", kSplitOfData);
    if (options_.steps == 0) decide("steps", "");
    if (options_.eval_every == 0) decide("eval-every", "");
  }

  // A value for an epoch that the run does not reach has no effect.
  void check_lists() const {
    if (options_.steps > 0) return;
    const auto epochs = static_cast<std::size_t>(std::ceil(options_.epochs));
    for (const auto& [option, count] :
         {std::pair("--lr", options_.lr.values().size()),
          std::pair("--accumulate", options_.accumulate.values().size())}) {
      if (count <= epochs) continue;
      throw InputError(2,
                       concat(option, " has ", count, " values, and the run ", epochs, " epochs"),
                       "give one value for each epoch, of which the last holds for all later ones");
    }
    if (options_.force_anneal > static_cast<std::int64_t>(epochs)) {
      throw InputError(2,
                       concat("--force-anneal ", options_.force_anneal,
                              " has no effect: the run has ", epochs, " epochs"),
                       "give an earlier epoch, or more --epochs");
    }
  }

  // An option that compares evaluations of dev needs that split.
  void require_dev(const std::string& option) const {
    if (store_->size(evaluated()) > 0) return;
    throw InputError(
        2, concat(option, " compares scores of the dev split, which is empty"),
        concat("give dev samples with --dev FILE or a share with --split, or leave out ", option));
  }

  void start() {
    const CurrentRun current{options_.settings,
                             training_options(*options_.task),
                             metric_,
                             options_.seed,
                             options_.optimizer,
                             store_->identity(),
                             store_->size(Split::train),
                             lengths_,
                             model_->config(),
                             model_->lora() == nullptr ? "" : model_->lora()->base_hash,
                             summation_of(world_, *model_)};
    start_ = agree_on_start(world_, options_, folder_ ? &*folder_ : nullptr, current,
                            [this](const std::string& text) { say(text); });
    if (!writes()) return;
    if (!options_.tensorboard.empty()) {
      events_.emplace(options_.tensorboard, start_.state.step);
    }
    if (!options_.runs_db.empty()) {
      require_writable(options_.runs_db, "--runs-db");
      check_runs_database(options_.runs_db);
    }
    prepare_folder(*folder_, start_, task().result_files());
    tell_bprun(world_.store(), resume_words(start_.own));
    if (saves()) {
      require_space(folder_->path(), count_parameters(*model_),
                    {options_.keep, options_.keep_best, options_.optimizer_state, averages()});
    }
    const BertConfig& config = model_->config();
    write_whole_file(folder_->file("config.yaml"), settings_yaml(options_.settings));
    if (!options_.fast_dev_run) list_store_user(store_path_, folder_->path());
    begin_session();
    say(concat("training ", source_.name, " (", config.layers, " layers, hidden ", config.hidden,
               ", ", config.vocabulary, " words, ", task().describe(config), ") on ",
               store_->size(Split::train), " samples, ", world_.size(),
               world_.size() == 1 ? " rank" : " ranks", started_by(Environment::current())));
  }

  TrainResult train_model() {
    TrainJob job;
    job.store = store_path_;
    job.rows = store_->size(Split::train);
    job.lengths = lengths_;
    job.lr = options_.lr;
    job.main_score = metric_;
    job.regularization = task().regularization();
    if (distillation_) job.distillation = &*distillation_;
    job.evaluated = name_of(evaluated());
    job.start = start_.state;
    job.evaluate = [this]() -> DevScores {
      if (store_->size(evaluated()) == 0) return {};
      const auto scorer = score(evaluated());
      if (!scorer) return {.stopped = true};
      return {scorer->summary()};
    };
    if (!writes()) return train(world_, options_, job, *model_);

    job.metrics = folder_->file("metrics.jsonl");
    job.resumed = start_.folder;
    job.stop_file = stop_file(folder_->path());
    if (!saves()) return train(world_, options_, job, *model_);

    CheckpointsOptions saving{folder_->checkpoints(), options_.keep, options_.keep_every};
    if (start_.own) saving.last = start_.state.step;
    saving.moments.reset();
    if (options_.optimizer_state) saving.moments = moment_names(options_);
    saving.averaged = averages();
    saving.texts = model_texts(*model_, tokenizer_files());
    saving.before_publishing = [this] { folder_->require_lease(); };
    bool told = start_.own;
    saving.published = [this, &told] {
      if (!std::exchange(told, true)) tell_bprun(world_.store(), resume_words(true));
    };
    Checkpoints checkpoints(saving, *model_);
    if (events_) job.events = &*events_;
    job.checkpoints = &checkpoints;
    return train(world_, options_, job, *model_);
  }

  // Replaces the weights of the last step by those of the best checkpoint, on all ranks.
  void take_best_weights(TrainResult& result) {
    if (result.end.best.empty()) {
      say("no evaluation of dev: the model has the weights of the last step");
      return;
    }
    const BestResult& best = result.end.best.front();
    say(concat("the model is that of step ", best.step, ", whose ", metric_.key,
               " of dev is the best: ", fixed(best.dev.at(metric_.key), 4)));
    final_step_ = best.step;
    if (best.step == result.end.step) return;
    take_weights(world_,
                 writes() ? CheckpointFolder(folder_->checkpoints()).of_step(best.step) : "",
                 *model_);
    result.end.dev = best.dev;
  }

  [[nodiscard]] TokenizerFiles tokenizer_files() const {
    return {store_->vocabulary(), store_->lower_case(), model_->config().positions};
  }

  void save() { save_model(*model_, tokenizer_files(), folder_->file("model")); }

  void print_how_to_resume(const TrainResult& result) const {
    if (options_.fast_dev_run) return say("stopped on request");
    std::error_code ignored;  // the next run must not see this request
    fs::remove(stop_file(folder_->path()), ignored);
    const std::string checkpoint =
        CheckpointFolder(folder_->checkpoints()).of_step(result.end.step);
    const bool saved = path_exists(checkpoint);
    say(concat("stopped on request after step ", result.end.step, "; ",
               saved ? "saved in " + checkpoint : "there is no checkpoint of it"));
    Launched launched{program_invocation_name, ""};
    const char* const command = std::getenv(kLaunchCommand);
    if (command != nullptr && Environment::current().launcher == "bprun") {
      launched.command = command;
    }
    say(concat(saved ? "resume with: " : "run again: ",
               command_again(launched, resume_words(saved))));
  }

  [[nodiscard]] ResumeWords resume_words(bool saved) const {
    return arguments_again({options_.arguments, options_.resume, saved});
  }

  // Scores the finished model and writes the results. Returns false if it was asked to stop.
  bool finish(const TrainResult& trained) {
    RunSummary summary;
    summary.task = options_.task_name;
    summary.model = options_.model;
    summary.world = world_.size();
    summary.hosts = world_.topology().hosts();
    summary.steps = trained.end.step;
    summary.epochs = trained.epochs;
    summary.train = trained.summary;
    (options_.overfit > 0 ? summary.overfit : summary.dev) = trained.end.dev;
    summary.ended = name_of(trained.ended);
    if (trained.ended != RunEnd::steps) summary.ended_early = trained.ended_text;
    summary.best_metric = metric_.key;
    summary.final_weights = final_step_ > 0 ? "best" : "last";
    summary.final_step = final_step_ > 0 ? final_step_ : trained.end.step;
    summary.comm.bytes = trained.end.totals.gradient_bytes;
    summary.comm.seconds_exposed = trained.end.totals.seconds_exposed;

    std::unique_ptr<Scorer> scorer;
    if (const std::optional<Split> split = judged()) {
      scorer = score(*split);
      if (!scorer) return false;
      if (*split == Split::test) summary.test = scorer->summary();
      if (events_) write_events(*scorer, *split);
      if (writes()) write_results(*scorer, *split);
    }
    if (!writes()) return true;
    write_summary(summary, scorer.get());
    if (options_.fast_dev_run) {
      print_line(
          concat("the fast dev run worked: ", summary.steps,
                 " steps, evaluations of few samples, the model and the report; nothing of it "
                 "is kept"));
      return true;
    }
    add_to_database(RunState::finished,
                    scorer ? scorer->predictor().columns() : std::vector<PredictionColumn>());
    print_line("model   " + folder_->file("model"));
    print_line("report  " + folder_->file("report.html"));
    return true;
  }

  // Those of dev are already there.
  void write_events(const Scorer& scorer, Split split) {
    if (split == Split::test) {
      events_->write(EvaluationRecord{.step = step_, .split = "test", .result = scorer.summary()});
    }
    events_->curves(step_, name_of(split), scorer.pr_curves());
  }

  [[nodiscard]] std::optional<Split> judged() const {
    return options_.overfit > 0 ? Split::train : judged_split(*store_);
  }

  void write_results(const Scorer& scorer, Split split) const {
    const std::string predictions = folder_->file("predictions.csv");
    write_predictions(predictions, *store_, split, scorer);
    print_results(scorer, name_of(split), predictions);
    std::string mentioned;
    for (const ResultFile& file : scorer.files()) {
      write_whole_file(folder_->file(file.name), file.content);
      if (!file.mentioned) continue;
      mentioned += (mentioned.empty() ? "" : ", ") + folder_->file(file.name);
    }
    if (!mentioned.empty()) print_line("tables  " + mentioned);
  }

  // A problem with the database must not lose the run.
  void add_to_database(RunState state, const std::vector<PredictionColumn>& columns) const {
    if (options_.runs_db.empty()) return;
    try {
      RunToStore stored{read_run(folder_->path()), columns};
      stored.run.state = state;
      store_run(options_.runs_db, stored);
    } catch (const std::exception& error) {
      log(LogLevel::warn, concat("--runs-db: the run is not in ", options_.runs_db, ": ",
                                 error.what(), "; its folder is not affected"));
    }
  }

  // The report comes last: if it exists, all other files do, even after a power cut.
  void write_summary(const RunSummary& summary, const Scorer* scorer) {
    sync_file(folder_->file("metrics.jsonl"));
    session_->end(step_, "finished");
    sync_file(folder_->file("sessions.jsonl"));
    write_whole_file(folder_->file("summary.json"), to_json(summary));
    Report report;
    report.title = options_.run;
    report.summary = summary;
    report.metrics = read_metrics(folder_->file("metrics.jsonl"));
    report.main_score = metric_.key;
    report.higher_is_better = metric_.higher_is_better;
    report.tiles = tiles_of(summary);
    if (scorer != nullptr) {
      report.results = scorer->sections() + lengths_section(lengths());
      report.result_files = {"predictions.csv"};
      for (const ResultFile& file : scorer->files()) report.result_files.push_back(file.name);
    }
    report.settings = options_.settings;
    report.hosts = hosts_of(world_.topology());
    report.sessions = read_sessions(folder_->file("sessions.jsonl"));
    write_whole_file(folder_->file("report.html"), render_report(report));
  }

  [[nodiscard]] std::vector<SplitLengths> lengths() const {
    std::vector<SplitLengths> splits;
    for (const Split split : {Split::train, Split::dev, Split::test}) {
      splits.push_back({name_of(split), store_->lengths(split)});
    }
    return splits;
  }

  // Returns the tiles of the test split, or of dev if test has no true answers.
  [[nodiscard]] std::vector<Tile> tiles_of(const RunSummary& summary) const {
    const bool tested = summary.test && std::isfinite(summary.test->at(metric_.key));
    const std::optional<EvaluationSummary>& evaluated_now =
        options_.overfit > 0 ? summary.overfit : summary.dev;
    const std::optional<EvaluationSummary>& shown = tested ? summary.test : evaluated_now;
    if (!shown) return {};
    std::vector<Tile> tiles = task().tiles(*shown);
    for (Tile& tile : tiles) tile.note = name_of(tested ? Split::test : evaluated());
    return tiles;
  }

  [[nodiscard]] const Task& task() const { return *source_.task; }

  // Returns null if a rank was asked to stop.
  std::unique_ptr<Scorer> score(Split split) {
    auto scorer = task().make_scorer(*store_, split, model_->config());
    if (!evaluate(world_, *model_, *options_.task, *store_, split, *scorer)) return nullptr;
    return scorer;
  }

  Communicator& world_;
  Options options_;
  ModelSource source_;
  std::optional<ModelSource> teacher_;
  std::optional<Distillation> distillation_;
  std::optional<TemporaryFolder> temporary_;  // of a fast dev run
  MainScore metric_;                          // compares evaluations of dev
  std::int64_t final_step_ = 0;      // whose weights the model has, if not those of the last one
  std::optional<RunFolder> folder_;  // rank 0 only
  std::string store_path_;
  std::optional<SampleStore> store_;
  Lengths lengths_;
  std::unique_ptr<Bert> model_;
  ResumePoint start_;
  std::optional<SessionWriter> session_;  // rank 0 only
  std::optional<EventLog> events_;        // rank 0 only, with --tensorboard
  std::int64_t step_ = 0;                 // that the session is known to have reached
};

}  // namespace

int run_train(Communicator& world, Options options) { return Run(world, std::move(options))(); }

}  // namespace bp::trainer
