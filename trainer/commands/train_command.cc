#include <errno.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/launch_command.h"
#include "base/text.h"
#include "bp/environment.h"
#include "bp/version.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/model_source.h"
#include "trainer/commands/results.h"
#include "trainer/commands/run_precision.h"
#include "trainer/commands/teacher_source.h"
#include "trainer/commands/train_settings.h"
#include "trainer/common/look_up.h"
#include "trainer/common/numbers.h"
#include "trainer/common/stop_signals.h"
#include "trainer/common/whole_file.h"
#include "trainer/events/event_log.h"
#include "trainer/gpu/use_gpu.h"
#include "trainer/model/weights.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/schedule.h"
#include "trainer/prepare/make_vocabulary.h"
#include "trainer/report/sessions.h"
#include "trainer/report/shown_text.h"
#include "trainer/run/command_again.h"
#include "trainer/run/resume.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_settings.h"
#include "trainer/run/store_users.h"
#include "trainer/runs/runs_database.h"
#include "trainer/share/shared_data.h"
#include "trainer/share/temporary_folder.h"
#include "trainer/tasks/inputs.h"
#include "trainer/train/forward_blocks.h"
#include "trainer/train/loop/evaluate.h"
#include "trainer/train/loop/loop.h"
#include "trainer/train/loop/summation.h"
#include "trainer/train/loop/training_state.h"
#include "trainer/train/methods/distillation.h"
#include "trainer/train/methods/freeze.h"
#include "trainer/train/methods/take_weights.h"

namespace bp::trainer {
namespace {

// Empty for bprun, which prints this itself.
std::string started_by(const Environment& environment) {
  const bool foreign = environment.launcher != "none" && environment.launcher != "bprun";
  return foreign ? concat(", started by ", environment.launcher, " (", environment.found_by, ")")
                 : "";
}

std::string idle_text(int gpus) {
  return concat(gpus, gpus == 1 ? " other GPU is" : " other GPUs are",
                " idle; a rank for each trains on all: bprun -n ", gpus + 1,
                " --gpus all bert_train ...");
}

// One run, from its folder to its report.
class Run {
 public:
  Run(Communicator& world, const TrainOptions& options)
      : world_(world),
        settings_{options, choose_device(world, options.device)},
        source_(
            find_model(settings_.model, *settings_.task, settings_.extensions, settings_.family)) {
    divide_total_batch(settings_, world.size());
    take_metric_of_sweep(settings_, source_.task->metrics());
    metric_ = choose_metric(source_.task->metrics(), settings_.best_metric, settings_.task_name);
    if (!settings_.distill.teacher.empty()) teacher_ = find_teacher(settings_);
    if (settings_.fast_dev_run) {
      shorten(settings_);
      temporary_.emplace();
      settings_.run = temporary_->path() + "/run";
    }
    if (settings_.run.empty()) settings_.run = default_run(settings_.prepare.source);
    require_base(source_, settings_);
    data_ = job_data(world, settings_);
    if (!settings_.fast_dev_run) data_.prepare.run = settings_.run;
    prepare_for(source_, data_);
    if (writes()) {
      folder_ =
          RunFolder::open(settings_.run, settings_.resume == "never" ? RunFolder::IfExists::refuse
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
    decide_settings(settings_,
                    {model_->config(), source_.pretrained(), *store_, evaluated(), metric_});
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
        say_(concat("ended after step ", result.end.step, ": ", result.ended_text));
      }
      if (settings_.final_weights == FinalWeights::best) take_best_weights(result);
      if (writes()) save_model(*model_, tokenizer(), folder_->file("model"));
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
                             .machine = machine_text(settings_.rank_device.text),
                             .main_score = metric_,
                             .hosts = hosts_of(world_.topology())},
                     start_.own);
    if (events_) events_->settings(settings_.settings);
  }

  [[nodiscard]] Split evaluated() const { return evaluated_split(settings_); }
  [[nodiscard]] bool saves() const { return !settings_.save_every.empty(); }
  // Whether the model is an average of the weights.
  [[nodiscard]] bool averages() const { return settings_.ema > 0 || settings_.swa_from > 0; }
  [[nodiscard]] bool writes() const { return world_.rank() == 0; }

  void open_data() {
    store_path_ = prepare_everywhere(world_, data_, say_);
    store_.emplace(SampleStore::open(store_path_));
    note_store(settings_, data_, store_path_);
    if (settings_.overfit > 0) store_->limit(Split::train, settings_.overfit);
    if (settings_.fast_dev_run) {
      for (const Split split : {Split::dev, Split::test}) store_->limit(split, 2 * kBlockSamples);
    }
    if (needs_lengths(settings_)) {
      lengths_ = std::make_shared<std::vector<std::int32_t>>(store_->lengths(Split::train));
      check_max_tokens(settings_, *lengths_);
    }
    choose_precision(world_, settings_, folder_ ? &*folder_ : nullptr, say_);
    model_ = make_model(source_, settings_, *store_, say_, world_.rank() == 0);
    check_size(*model_, settings_.max_parameters);
    choose_gradients(*model_, settings_.freeze);
    if (teacher_) learn_from_teacher();
    parts_ = parts_of(*model_, settings_);
    if (const LoraConfig* const lora = model_->lora()) {
      say_(concat("adapters of rank ", lora->rank, ": ", with_commas(count_parameters(*model_)),
                  " of ", with_commas(count_all_parameters(*model_)),
                  " parameters are trained and saved"));
    }
  }

  void learn_from_teacher() {
    auto teacher = load_teacher(world_, *teacher_, settings_, *store_, model_->config());
    say_(concat("learning from ", teacher_->name, " (", teacher->config().layers,
                " layers, hidden ", teacher->config().hidden, ")"));
    distillation_.emplace(std::move(teacher), settings_.distill, *model_);
    if (model_->lora() == nullptr || !model_->projection().defined()) return;
    throw InputError(2, "--distill-hidden with --lora needs hidden states of the teacher's width",
                     "leave out one of the two");
  }

  void start() {
    const CurrentRun current{settings_.settings,
                             metric_,
                             settings_.seed,
                             settings_.optimizer,
                             store_->identity(),
                             store_->size(Split::train),
                             lengths_,
                             model_->config(),
                             model_->lora() == nullptr ? "" : model_->lora()->base_hash,
                             summation_of(world_, *model_, settings_.rank_device.text)};
    start_ = agree_on_start(world_, settings_, folder_ ? &*folder_ : nullptr, current, say_);
    if (!writes()) return;
    if (!settings_.tensorboard.empty()) events_.emplace(settings_.tensorboard, start_.state.step);
    if (!settings_.runs_db.empty()) {
      require_writable(settings_.runs_db, "--runs-db");
      check_runs_database(settings_.runs_db);
    }
    prepare_folder(*folder_, start_, task().result_files());
    tell_bprun(world_.store(), resume_words(start_.own));
    if (saves()) {
      require_space(folder_->path(), count_parameters(*model_),
                    {.last = settings_.keep,
                     .best = settings_.keep_best,
                     .optimizer_state = settings_.optimizer_state,
                     .averaged = averages()});
    }
    const EncoderSpec& config = model_->config();
    write_run_settings(folder_->path(), settings_.settings);
    if (!settings_.fast_dev_run) list_store_user(store_path_, folder_->path());
    begin_session();
    const bool is_named = source_.pretrained() || config.family == EncoderSpec().family;
    say_(concat("training ", source_.name, is_named ? "" : " of the family " + config.family, " (",
                config.layers, " layers, hidden ", config.hidden, ", ", config.vocabulary,
                " words, ", task().describe(config), ") on ", store_->size(Split::train),
                " samples, ", world_.size(), world_.size() == 1 ? " rank" : " ranks",
                settings_.rank_device.gpu < 0 ? "" : " on ", settings_.rank_device.text,
                started_by(Environment::current())));
    if (const int idle = settings_.rank_device.idle_gpus; idle > 0) say_(idle_text(idle));
  }

  TrainResult train_model() {
    TrainJob job;
    job.store = store_path_;
    job.rows = store_->size(Split::train);
    job.lengths = lengths_;
    job.lr = settings_.lr;
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
    if (!writes()) return train(world_, settings_, job, *model_);

    job.metrics = folder_->file("metrics.jsonl");
    job.resumed = start_.folder;
    job.stop_file = stop_file(folder_->path());
    if (!saves()) return train(world_, settings_, job, *model_);

    CheckpointsOptions saving{.folder = folder_->checkpoints(),
                              .keep = settings_.keep,
                              .keep_every = settings_.keep_every};
    if (start_.own) saving.last = start_.state.step;
    saving.moments.reset();
    if (settings_.optimizer_state) saving.moments = moment_names(settings_);
    saving.averaged = averages();
    saving.copies = !saves_in_pieces(settings_, world_.topology(), *model_);
    saving.texts = model_texts(*model_, tokenizer());
    saving.before_publishing = [this] { folder_->require_lease(); };
    bool told = start_.own;
    saving.published = [this, &told] {
      if (!std::exchange(told, true)) tell_bprun(world_.store(), resume_words(true));
    };
    Checkpoints checkpoints(saving, *model_);
    if (events_) job.events = &*events_;
    job.checkpoints = &checkpoints;
    return train(world_, settings_, job, *model_);
  }

  // Replaces the weights of the last step by those of the best checkpoint, on all ranks.
  void take_best_weights(TrainResult& result) {
    if (result.end.best.empty()) {
      say_("no evaluation of dev: the model has the weights of the last step");
      return;
    }
    const BestResult& best = result.end.best.front();
    say_(concat("the model is that of step ", best.step, ", whose ", metric_.key,
                " of dev is the best: ", score_text(best.dev.at(metric_.key))));
    final_step_ = best.step;
    if (best.step == result.end.step) return;
    take_weights(world_,
                 writes() ? CheckpointFolder(folder_->checkpoints()).of_step(best.step) : "",
                 *model_);
    result.end.dev = best.dev;
  }

  [[nodiscard]] NamedTexts tokenizer() const {
    return tokenizer_files(vocabulary_of(*store_),
                           {store_->lower_case(), model_->config().max_tokens()});
  }

  void print_how_to_resume(const TrainResult& result) const {
    if (settings_.fast_dev_run) return say_("stopped on request");
    std::error_code ignored;  // the next run must not see this request
    std::filesystem::remove(stop_file(folder_->path()), ignored);
    const std::string checkpoint =
        CheckpointFolder(folder_->checkpoints()).of_step(result.end.step);
    const bool saved = path_exists(checkpoint);
    say_(concat("stopped on request after step ", result.end.step, "; ",
                saved ? "saved in " + checkpoint : "there is no checkpoint of it"));
    Launched launched{program_invocation_name, ""};
    const char* const command = std::getenv(kLaunchCommand);
    if (command != nullptr && Environment::current().launcher == "bprun") {
      launched.command = command;
    }
    say_(concat(saved ? "resume with: " : "run again: ",
                command_again(launched, resume_words(saved))));
  }

  [[nodiscard]] ResumeWords resume_words(bool saved) const {
    return arguments_again({settings_.arguments, settings_.resume, saved});
  }

  // Scores the finished model and writes the results. Returns false if it was asked to stop.
  bool finish(const TrainResult& trained) {
    RunSummary summary = summary_of(settings_, trained, world_.topology());
    summary.best_metric = metric_.key;
    summary.parameters = parts_;
    if (final_step_ > 0) {
      summary.final_weights = "best";
      summary.final_step = final_step_;
    }
    std::unique_ptr<Scorer> scorer;
    if (const auto split = settings_.overfit > 0 ? Split::train : judged_split(*store_)) {
      scorer = score(*split);
      if (!scorer) return false;
      if (*split == Split::test) summary.test = scorer->summary();
      if (events_ && summary.test) {  // those of dev are already there
        events_->write(EvaluationRecord{.step = step_, .split = "test", .result = *summary.test});
      }
      if (events_) events_->curves(step_, name_of(*split), scorer->pr_curves());
      if (writes()) write_results(results(), *scorer, *split);
    }
    if (!writes()) return true;
    sync_file(folder_->file("metrics.jsonl"));
    session_->end(step_, "finished");
    sync_file(folder_->file("sessions.jsonl"));
    write_report(results(), summary, scorer.get());
    if (settings_.fast_dev_run) {
      print_line(
          concat("the fast dev run worked: ", summary.steps,
                 " steps, evaluations of few samples, the model and the report; nothing of it "
                 "is kept"));
      return true;
    }
    add_to_database(RunState::finished,
                    scorer ? scorer->columns() : std::vector<PredictionColumn>());
    print_line("model   " + folder_->file("model"));
    print_line("report  " + folder_->file("report.html"));
    return true;
  }

  [[nodiscard]] TrainResults results() const {
    return {settings_, *folder_, *store_, task(), metric_, hosts_of(world_.topology())};
  }
  void add_to_database(RunState state, const std::vector<PredictionColumn>& columns) const {
    store_in_database(settings_.runs_db, folder_->path(), state, columns);
  }

  [[nodiscard]] const Task& task() const { return *source_.task; }

  // Returns null if a rank was asked to stop.
  std::unique_ptr<Scorer> score(Split split) {
    auto scorer = task().make_scorer(store_->names(), model_->config(), {&*store_, split});
    if (!evaluate(world_, *model_, *settings_.task, *store_, split, *scorer)) return nullptr;
    return scorer;
  }

  Communicator& world_;
  const Say say_ = say_on_rank_0(world_);
  RunSettings settings_;
  ModelSource source_;
  std::optional<ModelSource> teacher_;
  std::optional<Distillation> distillation_;
  std::optional<TemporaryFolder> temporary_;  // of a fast dev run
  MainScore metric_;                          // compares evaluations of dev
  std::int64_t final_step_ = 0;      // whose weights the model has, if not those of the last one
  std::optional<RunFolder> folder_;  // rank 0 only
  JobData data_;
  std::string store_path_;
  std::optional<SampleStore> store_;
  Lengths lengths_;
  std::unique_ptr<Bert> model_;
  std::vector<ModelPart> parts_;  // of the model, when training begins
  ResumePoint start_;
  std::optional<SessionWriter> session_;  // rank 0 only
  std::optional<EventLog> events_;        // rank 0 only, with --tensorboard
  std::int64_t step_ = 0;                 // that the session is known to have reached
};

}  // namespace

int run_command(Communicator& world, const TrainOptions& options) { return Run(world, options)(); }

}  // namespace bp::trainer
