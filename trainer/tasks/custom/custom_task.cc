// Makes a task of bert_train of a task that a program defines.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/input_error.h"
#include "base/text.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/custom/custom_head.h"
#include "trainer/tasks/custom/custom_input.h"
#include "trainer/tasks/custom/custom_scorer.h"
#include "trainer/tasks/tasks.h"

namespace bp::trainer {
namespace {

constexpr const char* kKey = "bp_task";  // in config.json: the name of the model's task

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

  void configure(BertConfig& config, const SampleStore& /*store*/) const override {
    config.head = {{kKey, nlohmann::json(task_->name()).dump()}};
  }
  [[nodiscard]] std::string describe(const BertConfig& /*config*/) const override {
    return "task " + task_->name();
  }

  [[nodiscard]] TakenWeights taken_weights(const BertConfig& stored,
                                           const BertConfig& wanted) const override {
    if (is_trained(stored)) return {};
    std::vector<std::string> own;
    for (const HeadParameter& one : task_->parameters(wanted.hidden)) own.push_back(one.name);
    TakenWeights taken{.optional = own, .replaced = own};
    taken.optional.emplace_back("bert.pooler.");
    return taken;
  }
  void require_trained(const BertConfig& config, const std::string& model) const override {
    if (is_trained(config)) return;
    throw InputError(65, concat(kKey, " in ", model, "/config.json is not \"", task_->name(), '"'),
                     concat("only a model that was trained with --task ", task_->name(),
                            " can be scored by it"));
  }

  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const std::vector<std::string>& /*names*/,
                                                    const BertConfig& /*config*/,
                                                    const StoredSplit& scored) const override {
    return std::make_unique<CustomScorer>(task_, scored);
  }

 private:
  [[nodiscard]] bool is_trained(const BertConfig& config) const {
    const auto found = config.head.find(kKey);
    return found != config.head.end() && found->second == nlohmann::json(task_->name()).dump();
  }

  std::shared_ptr<const CustomTask> task_;
};

}  // namespace

std::shared_ptr<const Task> make_custom_task(const TaskInput& input) {
  const auto* const own = dynamic_cast<const CustomInput*>(&input);
  BP_CHECK(own != nullptr, "an input that belongs to no task");
  return std::make_shared<CustomTaskAdapter>(own->task());
}

}  // namespace bp::trainer
