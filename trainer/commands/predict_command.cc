#include <stdio_ext.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/model_source.h"
#include "trainer/commands/prediction_rows.h"
#include "trainer/commands/results.h"
#include "trainer/commands/run_precision.h"
#include "trainer/common/numbers.h"
#include "trainer/common/stop_signals.h"
#include "trainer/common/whole_file.h"
#include "trainer/gpu/use_gpu.h"
#include "trainer/input/byte_input.h"
#include "trainer/prepare/make_vocabulary.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/sample_list.h"
#include "trainer/report/predictions.h"
#include "trainer/text/tokenizer.h"
#include "trainer/train/forward_blocks.h"
#include "trainer/train/loop/precision_difference.h"
#include "trainer/train/watch/machine_watch.h"

namespace bp::trainer {
namespace {

// Where the rows go: a file, or standard output.
class PredictionOutput {
 public:
  // `file`: empty for standard output. A file appears with finish(), complete. Throws io, as every
  // function here does.
  explicit PredictionOutput(const std::string& file) {
    if (!file.empty()) file_.emplace(file);
  }

  void put(const std::string& text) {
    if (file_) {
      file_->write(text);
    } else {
      require(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
    }
  }
  // Lets the reader of standard output have what was added.
  void flush() const {
    if (!file_) require(std::fflush(stdout) == 0);
  }
  void finish() {
    flush();
    if (file_) file_->keep();
  }

 private:
  static void require(bool written) {
    if (written) return;
    const int error = errno;
    ::__fpurge(stdout);  // this error tells of it, so end_output() must not
    std::clearerr(stdout);
    throw Error(ErrorCode::io,
                concat("cannot write the predictions to standard output: ", error_text(error)));
  }

  std::optional<PartFile> file_;
};

// Predicts samples as they come, in the blocks of evaluation, so that the numbers are the same.
class Prediction {
 public:
  // `precision`: the model's. If it is not fp32, the first samples are compared with fp32.
  Prediction(Bert& model,
             Precision precision,
             std::unique_ptr<Scorer> rows,
             SampleSchema schema,
             CompleteBatch complete,
             const PredictOptions& options)
      : model_(model),
        precision_(precision),
        rows_(std::move(rows)),
        schema_(std::move(schema)),
        complete_(std::move(complete)),
        competition_(options.out_format == OutFormat::kaggle),
        lines_(options.out_format == OutFormat::jsonl ? PredictionFormat::jsonl
                                                      : PredictionFormat::csv,
               rows_->columns()),
        output_(options.out) {}

  // Computes the samples, and writes the rows that no later sample belongs to.
  void add(std::span<const Sample> samples) {
    const std::vector<Batch> blocks =
        make_blocks(samples, schema_, model_.config().pad_id, complete_);
    if (precision_ != Precision::fp32 && count_ == 0) {
      print_problem(text_of(difference_from_fp32(model_, blocks), precision_), "");
    }
    const std::vector<at::Tensor> outputs = forward_blocks(model_, blocks);
    for (std::size_t b = 0; b < blocks.size(); ++b) rows_->keep(blocks[b], outputs[b], kept_);
    waiting_.insert(waiting_.end(), samples.begin(), samples.end());
    std::size_t whole = waiting_.size();
    if (rows_->joins_samples()) {
      const std::int64_t last = waiting_.back().text_id;
      while (whole > 0 && waiting_[whole - 1].text_id == last) --whole;
    }
    write_rows(whole);
    cores_.look("a prediction", true);
    count_ += static_cast<std::int64_t>(samples.size());
  }

  // No later sample belongs to a row.
  void end_row() { write_rows(waiting_.size()); }

  // Writes a row without a prediction.
  void skip(std::int64_t sample, std::int64_t row) {
    fields_.assign(rows_->columns().size(), "");
    if (!competition_) put(lines_.line({sample, row, fields_}));  // its row has no ID
    output_.flush();
    ++count_;
  }

  void finish() {
    end_row();
    put("");
    output_.finish();
  }
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  // Writes those of the first `samples` waiting samples.
  void write_rows(std::size_t samples) {
    std::vector<std::int64_t> texts;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < samples; ++i) {
      texts.push_back(waiting_[i].text_id);
      taken += rows_->kept_of(waiting_[i]);
    }
    const std::vector<std::size_t> starts = rows_->starts_of_rows(texts);
    const std::vector<float> kept = rows_->kept_of_rows(std::span(kept_).first(taken), starts);
    std::span<const float> rest = kept;
    for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
      const Sample& sample = waiting_[starts[row]];
      const std::size_t own = rows_->kept_of(sample);
      if (competition_) {
        put(rows_->competition_line(sample, rest.first(own)));
      } else {
        rows_->set_fields(sample, rest.first(own), fields_);
        put(lines_.line({sample.sample_id, sample.text_id, fields_}));
      }
      rest = rest.subspan(own);
    }
    output_.flush();
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(taken));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(samples));
  }

  // Writes the header before the first row. So data that cannot be read leave the output empty.
  void put(const std::string& line) {
    if (!std::exchange(begun_, true)) {
      output_.put(competition_ ? rows_->competition_header() : lines_.header());
    }
    output_.put(line);
  }

  Bert& model_;
  const Precision precision_;
  std::unique_ptr<Scorer> rows_;
  SampleSchema schema_;
  CompleteBatch complete_;
  const bool competition_;
  PredictionLines lines_;
  PredictionOutput output_;
  std::vector<Sample> waiting_;  // their rows are not written
  std::vector<float> kept_;      // of them
  std::vector<std::string> fields_;
  CoreWatch cores_;
  bool begun_ = false;
  std::int64_t count_ = 0;
};

void predict_store(const SampleStore& store, Split split, Prediction& prediction) {
  std::vector<Sample> samples;
  for (std::int64_t i = 0; i < store.size(split); ++i) {
    throw_if_stopping("predicting", name_of(split));
    samples.push_back(store.load(split, i));
    const auto count = static_cast<std::int64_t>(samples.size());
    if (count < samples_at_once() && i + 1 < store.size(split)) continue;
    prediction.add(samples);
    samples.clear();
  }
}

Vocabulary vocabulary_of(const ModelSource& source, const PrepareOptions& options) {
  if (!options.vocabulary.empty()) {
    return read_vocabulary(options.vocabulary, options.lower_case);
  }
  throw InputError(2, concat("no vocab.txt or tokenizer.json in ", source.name),
                   "name the vocabulary that the model was trained with: --vocab");
}

void predict_rows(const std::string& data,
                  const PrepareOptions& options,
                  SampleMaker& maker,
                  OnError on_error,
                  Prediction& prediction) {
  SampleList list;
  const SampleSink into_list = std::bind_front(&SampleList::add, &list);
  const auto predict = [&] {
    if (!list.samples().empty()) prediction.add(list.samples());
    prediction.end_row();
    list.clear();
  };
  const std::unique_ptr<RowReader> rows = open_prediction_rows(data, options, predict);
  const auto make_next = [&] {
    if (!rows->next()) return false;
    list.begin_row(rows->number());
    try {
      maker.make(rows->fields(), into_list);
    } catch (const InputError& error) {
      throw BadRow({error.exit_code(), concat(rows->place(), ": ", error.what()), error.hint()});
    }
    return true;
  };
  const auto skip = [&](const BadRow& error) {
    if (on_error == OnError::stop) throw error;
    print_problem(concat(error.what(), "; its prediction is empty"), "");
    prediction.skip(list.skip(), rows->number());
  };
  for (;;) {
    throw_if_stopping("predicting", data);
    try {
      if (!make_next()) break;
    } catch (const InputError& error) {
      list.drop_row(rows->number());
      predict();  // the rows before the bad one
      const auto* const bad = dynamic_cast<const BadRow*>(&error);
      if (bad == nullptr) throw;
      skip(*bad);
      continue;
    }
    if (static_cast<std::int64_t>(list.samples().size()) < samples_at_once()) continue;
    const auto whole = static_cast<std::size_t>(samples_at_once());
    prediction.add(std::span(list.samples()).first(whole));
    list.drop(whole);
  }
  predict();
}

}  // namespace

int run_command(Communicator& world, const PredictOptions& options) {
  if (world.size() > 1) {
    throw InputError(2, "predict runs as one process, on all cores that it may use",
                     "start it without bprun; bert_train eval RUN DATA --out FILE scores with any "
                     "number of ranks, and writes the same numbers");
  }
  require_writable(options.out);
  const RankDevice rank_device = choose_device(world, options.device);
  const ModelSource source =
      find_model(options.plan.source.model, *options.task, options.extensions);
  const Precision precision = precision_of_evaluation(world, options.precision, rank_device);
  const auto model = load_model(source, device_of(rank_device), precision);
  std::vector<std::string> names = options.task->score_by(model->config());
  PrepareOptions reading = options.prepare;
  if (reading.vocabulary.empty()) reading.vocabulary = source.vocabulary;
  reading.max_length = std::min(reading.max_length, source.max_length());
  Vocabulary vocabulary;
  std::optional<SampleStore> store;
  if (is_store(options.prepare.source)) {
    store.emplace(SampleStore::open(options.prepare.source));
    check_samples(*store, source, *options.task);
    names = store->names();
    vocabulary = vocabulary_of(*store);
  } else {
    vocabulary = vocabulary_of(source, reading);
  }
  auto rows = source.task->make_scorer(names, model->config(), {});
  if (options.out_format == OutFormat::kaggle && rows->competition_header().empty()) {
    throw InputError(2,
                     concat("--out-format kaggle: the task ", source.task_name,
                            " has no file for a competition"),
                     "choose csv or jsonl");
  }
  Prediction prediction(*model, precision, std::move(rows),
                        store ? store->schema() : options.task->schema(),
                        options.task->completion(vocabulary.tokens, vocabulary.json()), options);
  if (store) {
    predict_store(*store, chosen_split(options.on, *store), prediction);
  } else {
    const auto maker = options.task->make_maker(reading, names,
                                                Tokenizer(vocabulary, source.tokenizer.lower_case));
    predict_rows(reading.source, reading, *maker, options.on_error, prediction);
  }
  prediction.finish();
  if (!options.out.empty()) {
    print_line(concat("predicted ", with_commas(prediction.count()), " samples in ", options.out));
  }
  return 0;
}

}  // namespace bp::trainer
