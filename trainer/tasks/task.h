// A task defines what a model is trained for. It has its folder below this one, and nothing outside
// it knows what a model of the task predicts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/model/config.h"
#include "trainer/model/head.h"
#include "trainer/report/evaluation_summary.h"
#include "trainer/report/report.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/regularization.h"
#include "trainer/tasks/scorer.h"

namespace bp::trainer {

class Bert;

// Threads: any number of threads may use it at once.
class Task {
 public:
  virtual ~Task() = default;

  [[nodiscard]] virtual HeadMaker head() const = 0;
  // What training adds to the head's loss. See trainer/train/step_loss.h.
  [[nodiscard]] virtual Regularization regularization() const { return {}; }
  // Returns whether its heads define Head::divergence(), with which a model learns the outputs of
  // another one (trainer/train/methods/distillation.h).
  [[nodiscard]] virtual bool compares_predictions() const { return false; }
  // The scores of Scorer::summary() by which models can be ranked. The first ranks them unless the
  // user names another.
  [[nodiscard]] virtual std::vector<MainScore> metrics() const = 0;
  [[nodiscard]] MainScore main_score() const { return metrics().front(); }
  // The most important numbers of an evaluation, for the report.
  [[nodiscard]] virtual std::vector<Tile> tiles(const EvaluationSummary& summary) const = 0;

  // The names of the files that its scorers return.
  [[nodiscard]] virtual std::vector<std::string> result_files() const { return {}; }

  // Returns what PEFT calls models of the task (TaskType), or "" for one that it does not know.
  [[nodiscard]] virtual std::string peft_type() const { return ""; }

  // Throws invalid_argument, without a file's name, if the head's part of a configuration is
  // invalid.
  virtual void check(const EncoderSpec& /*config*/) const {}
  // Completes the configuration of a model that is to be trained on the store. Throws InputError
  // (65) if the store was not made for such a model.
  virtual void configure(EncoderSpec& config, const SampleStore& store) const = 0;
  // Returns what a model with this configuration predicts: "2 labels".
  [[nodiscard]] virtual std::string describe(const EncoderSpec& config) const = 0;
  // How a model with the configuration `wanted` takes over weights of one with `stored`.
  struct TakenWeights {
    // Prefixes of the names of weights that may be missing in a file, and then are newly drawn.
    std::vector<std::string> optional = {};
    // Prefixes of those that are newly drawn in any case, and why.
    std::vector<std::string> replaced = {};
    std::string reason = {};  // "the model's labels are not the data's"; empty: nothing to say
  };
  [[nodiscard]] virtual TakenWeights taken_weights(const EncoderSpec& stored,
                                                   const EncoderSpec& wanted) const = 0;
  // Called after weights of a model with the configuration `stored` were loaded from the file
  // `path`. Sets weights that depend on the file's in another way.
  virtual void complete_weights(Bert& /*model*/,
                                const EncoderSpec& /*stored*/,
                                const std::string& /*path*/) const {}
  // Throws InputError (65), naming the model, if a model with this configuration cannot be scored.
  virtual void require_trained(const EncoderSpec& config, const std::string& model) const = 0;

  // Returns a Scorer without samples for a model with this configuration. `names`: those of the
  // store, or of the samples that it makes rows of. Throws InputError (65) if the model cannot
  // score them.
  [[nodiscard]] virtual std::unique_ptr<Scorer> make_scorer(const std::vector<std::string>& names,
                                                            const EncoderSpec& config,
                                                            const StoredSplit& scored) const = 0;
};

}  // namespace bp::trainer
