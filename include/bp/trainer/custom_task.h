// A custom task teaches bert_train to predict something else of a text or a pair of texts. See
// run.h.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bp/export.h"
#include "bp/trainer/figure.h"

namespace at {
class Tensor;
}

namespace BP_API bp {

// A parameter of the part of a model that is above its encoder.
struct HeadParameter {
  std::string name;  // in model.safetensors: "classifier.weight"
  std::vector<std::int64_t> sizes;
  bool zero = false;  // at first; else drawn from BERT's normal distribution
};

enum class EncoderOutput : std::uint8_t {
  pooled,  // of each row: BERT's pooler over the state of [CLS]
  tokens,  // the last layer's state of each token
};

// The input of the head: fp32, on the model's device. In a training step dropout has been applied.
struct HeadInput {
  const at::Tensor& states;  // pooled: [rows, hidden]; tokens: [rows, length, hidden], padded by 0
  const at::Tensor& mask;    // tokens: bool [rows, length], false for padding; pooled: undefined
  const std::vector<at::Tensor>& parameters;  // in the order of CustomTask::parameters()
};

// A sample of a split that is scored.
struct ScoredSample {
  std::span<const float> outputs;   // a row of what forward() returned
  std::span<const double> answers;  // in the order of CustomTask::answers()
};

// Its functions are const, so that any number of threads may call them at once. An exception in one
// of them ends the command with its text.
class CustomTask {
 public:
  virtual ~CustomTask() = default;

  // Data. The texts come from the columns of --text and --text2.
  [[nodiscard]] virtual std::string name() const = 0;  // that --task chooses it by
  // The columns of the true answers. An option of the same name chooses another column.
  [[nodiscard]] virtual std::vector<std::string> answers() const = 0;
  // Returns the number for an answer's text, which is not empty. Throws invalid_argument, saying
  // what the text is not: "is not a number".
  [[nodiscard]] virtual double read_answer(std::size_t /*answer*/, std::string_view text) const {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw std::invalid_argument("is not a number");
    }
    return number;
  }
  // Another text when read_answer() changes: then stores of before are prepared again.
  [[nodiscard]] virtual std::string version() const { return "1"; }

  // The head, and the loss to minimize.
  [[nodiscard]] virtual EncoderOutput reads() const { return EncoderOutput::pooled; }
  [[nodiscard]] virtual std::vector<HeadParameter> parameters(std::int64_t hidden) const = 0;
  [[nodiscard]] virtual std::size_t outputs() const = 0;  // numbers that the head gives for a row
  // Returns fp32 [rows, outputs()]. A row's outputs must not depend on the other rows.
  [[nodiscard]] virtual at::Tensor forward(const HeadInput& input) const = 0;
  // Returns the loss of each row, [rows]. `answers`: fp32 [rows, answers], on the device of
  // `outputs`. bert_train minimizes the mean over the rows of all ranks. It may add values of
  // figures() to `report`, which only a training step shows. An infinite or NaN sum is shown as it
  // is.
  [[nodiscard]] virtual at::Tensor losses(const at::Tensor& outputs,
                                          const at::Tensor& answers,
                                          std::vector<Figure>& report) const = 0;
  // The names of the figures that training shows beside the loss, of small letters, digits, - and
  // _. metrics.jsonl, TensorBoard, report.html and summary.json have them.
  [[nodiscard]] virtual std::vector<std::string> figures() const { return {}; }

  // Scores, besides the mean loss. The first ranks the checkpoints; without any, the loss does.
  [[nodiscard]] virtual std::vector<std::string> scores() const { return {}; }
  [[nodiscard]] virtual bool higher_is_better() const { return true; }
  // Returns a number for each of scores(). `samples`: all of a split that have answers, at least
  // one, in the same order for any number of ranks.
  [[nodiscard]] virtual std::vector<double> score(std::span<const ScoredSample> /*samples*/) const {
    return {};
  }

  // Predictions: the columns of predictions.csv behind the answers, and their fields for a sample.
  [[nodiscard]] virtual std::vector<std::string> columns() const = 0;
  [[nodiscard]] virtual std::vector<std::string> predict(std::span<const float> outputs) const = 0;
};

}  // namespace bp
