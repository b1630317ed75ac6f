// Makes a task of bert_train of a task that a program defines.
#include "bp/trainer/custom_task.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/input_error.h"
#include "base/refuse.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/model/families/family.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/custom/custom_head.h"
#include "trainer/tasks/custom/custom_input.h"
#include "trainer/tasks/scorer.h"
#include "trainer/tasks/tasks.h"

namespace bp::trainer {
namespace {

constexpr const char* kKey = "bp_task";  // in config.json: the name of the model's task

// Everything is computed from the outputs of all samples, after evaluate() has collected them.
class CustomScorer : public Scorer {
 public:
  CustomScorer(std::shared_ptr<const CustomTask> task, const StoredSplit& scored)
      : Scorer(scored), task_(std::move(task)), outputs_(task_->outputs()) {}

  [[nodiscard]] std::vector<PredictionColumn> columns() const override {
    std::vector<PredictionColumn> columns;
    for (const std::string& answer : task_->answers()) columns.push_back({answer, true});
    for (const std::string& column : task_->columns()) columns.push_back({column});
    return columns;
  }
  void keep(const Batch& block,
            const at::Tensor& outputs,
            std::vector<float>& kept) const override {
    const auto* const numbers = outputs.const_data_ptr<float>();
    kept.insert(kept.end(), numbers, numbers + block.rows * outputs.size(1));
  }
  [[nodiscard]] std::size_t kept_of(const Sample& /*sample*/) const override { return outputs_; }
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override {
    const std::size_t answers = task_->answers().size();
    fields.assign(answers, "");
    const std::vector<double> numbers = answers_of(sample, answers);
    std::ranges::transform(numbers, fields.begin(), [](double number) { return concat(number); });
    std::vector<std::string> predicted = task_->predict(kept);
    if (predicted.size() != task_->columns().size()) {
      refuse(concat("predict() of the task ", task_->name(), " returned ",
                    counted(static_cast<std::int64_t>(predicted.size()), "field"), " for ",
                    counted(static_cast<std::int64_t>(task_->columns().size()), "column")));
    }
    std::ranges::move(predicted, std::back_inserter(fields));
  }

  [[nodiscard]] EvaluationSummary summary() const override {
    const std::vector<std::string> names = task_->scores();
    Answered all = answered();
    if (all.samples == 0) {
      const double none = std::numeric_limits<double>::quiet_NaN();
      EvaluationSummary summary{{{"loss", none}}};
      for (const std::string& name : names) summary.scores.emplace_back(name, none);
      return summary;
    }
    const std::size_t answers = task_->answers().size();
    std::vector<ScoredSample> samples;
    for (std::size_t i = 0; i < all.samples; ++i) {
      samples.push_back({{all.outputs.data() + i * outputs_, outputs_},
                         {all.answers.data() + i * answers, answers}});
    }
    EvaluationSummary summary{{{"loss", mean_loss(all)}}};
    const std::vector<double> scores =
        names.empty() ? std::vector<double>() : task_->score(samples);
    if (scores.size() != names.size()) {
      refuse(concat("score() of the task ", task_->name(), " returned ", scores.size(),
                    " numbers for ", names.size(), " names"));
    }
    for (std::size_t i = 0; i < names.size(); ++i) summary.scores.emplace_back(names[i], scores[i]);
    return summary;
  }
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override {
    const EvaluationSummary all = summary();
    const std::string samples = concat(with_commas(store().size(split())), " samples");
    if (all.at("loss") != all.at("loss")) {
      return unscored(name + ": no answers", predictions);
    }
    constexpr int kDigits = 4;
    std::string line = name + ":";
    for (const auto& [key, value] : all.scores) {
      line += concat(" ", key, " ", fixed(value, kDigits), ",");
    }
    return {concat(line, " ", samples)};
  }

 private:
  // The samples with answers.
  struct Answered {
    std::vector<float> outputs;   // [samples, outputs]
    std::vector<double> answers;  // [samples, answers]
    std::size_t samples = 0;
  };
  [[nodiscard]] Answered answered() const {
    Answered all;
    for (std::int64_t i = 0; i < store().size(split()); ++i) {
      const std::vector<double> answers =
          answers_of(store().load(split(), i), task_->answers().size());
      if (answers.empty()) continue;
      const float* const outputs = kept().data() + static_cast<std::size_t>(i) * outputs_;
      all.outputs.insert(all.outputs.end(), outputs, outputs + outputs_);
      all.answers.insert(all.answers.end(), answers.begin(), answers.end());
      ++all.samples;
    }
    return all;
  }
  // In blocks, each of which one thread computes, so that no number of threads changes the result.
  [[nodiscard]] double mean_loss(Answered& all) const {
    constexpr std::size_t kBlock = 256;
    const at::NoGradGuard no_grad;
    const std::size_t answers = task_->answers().size();
    double sum = 0;
    for (std::size_t begin = 0; begin < all.samples; begin += kBlock) {
      const auto rows = static_cast<std::int64_t>(std::min(kBlock, all.samples - begin));
      const at::Tensor outputs =
          at::from_blob(all.outputs.data() + begin * outputs_,
                        {rows, static_cast<std::int64_t>(outputs_)}, at::kFloat);
      const at::Tensor wanted =
          at::from_blob(all.answers.data() + begin * answers,
                        {rows, static_cast<std::int64_t>(answers)}, at::kDouble)
              .to(at::kFloat);
      std::vector<Figure> ignored;
      sum += task_->losses(outputs, wanted, ignored).to(at::kDouble).sum().item<double>();
    }
    return sum / static_cast<double>(all.samples);
  }

  std::shared_ptr<const CustomTask> task_;
  std::size_t outputs_;
};

class CustomTaskAdapter : public Task {
 public:
  explicit CustomTaskAdapter(std::shared_ptr<const CustomTask> task) : task_(std::move(task)) {}

  [[nodiscard]] HeadMaker head() const override { return custom_head(task_); }
  [[nodiscard]] std::vector<MainScore> metrics() const override {
    std::vector<MainScore> metrics;
    for (const std::string& name : task_->scores()) {
      metrics.push_back({name, task_->higher_is_better()});
    }
    metrics.push_back({"loss", false});
    return metrics;
  }
  [[nodiscard]] std::vector<Tile> tiles(const EvaluationSummary& summary) const override {
    std::vector<Tile> tiles;
    for (const auto& [key, value] : summary.scores) tiles.push_back({key, brief(value)});
    return tiles;
  }

  void configure(EncoderSpec& config, const SampleStore& /*store*/) const override {
    config.head = {{kKey, nlohmann::json(task_->name()).dump()}};
  }
  [[nodiscard]] std::string describe(const EncoderSpec& /*config*/) const override {
    return "task " + task_->name();
  }

  [[nodiscard]] TakenWeights taken_weights(const EncoderSpec& stored,
                                           const EncoderSpec& wanted) const override {
    if (is_trained(stored)) return {};
    std::vector<std::string> own;
    for (const HeadParameter& one : task_->parameters(wanted.hidden)) own.push_back(one.name);
    TakenWeights taken{.optional = own, .replaced = own};
    taken.optional.push_back(names_of(wanted).pooler_part());
    return taken;
  }
  void require_trained(const EncoderSpec& config, const std::string& model) const override {
    if (is_trained(config)) return;
    throw InputError(65, concat(kKey, " in ", model, "/config.json is not \"", task_->name(), '"'),
                     concat("only a model that was trained with --task ", task_->name(),
                            " can be scored by it"));
  }

  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const std::vector<std::string>& /*names*/,
                                                    const EncoderSpec& /*config*/,
                                                    const StoredSplit& scored) const override {
    return std::make_unique<CustomScorer>(task_, scored);
  }

 private:
  [[nodiscard]] bool is_trained(const EncoderSpec& config) const {
    const auto found = config.head.find(kKey);
    return found != config.head.end() && found->second == nlohmann::json(task_->name()).dump();
  }

  std::shared_ptr<const CustomTask> task_;
};

}  // namespace

std::shared_ptr<const Task> make_custom_task(const TaskInput& input) {
  return std::make_shared<CustomTaskAdapter>(custom_task_of(input));
}

}  // namespace bp::trainer
