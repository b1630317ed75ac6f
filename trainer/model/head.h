// A task adds a head to the encoder: parameters, outputs, and the loss.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bp/error.h"
#include "bp/trainer/figure.h"
#include "trainer/batches/batch.h"
#include "trainer/model/config.h"
#include "trainer/model/encoder.h"
#include "trainer/model/parameters.h"
#include "trainer/model/pass.h"

namespace bp::trainer {

// A bp::Figure whose sum, a number in double precision, may lie on a device: a step does not wait
// for it.
struct LossFigure {
  std::string name;
  at::Tensor sum;
  double weight = 0;
};
// Returns the figures as numbers. Waits once for the device on which sums lie.
[[nodiscard]] std::vector<Figure> read_figures(const std::vector<LossFigure>& figures);

// The mean loss of a batch, a scalar, and the number of things that the mean is over, such as
// samples or masked tokens. The gradient of a step is the mean over these things of all ranks.
struct Loss {
  at::Tensor mean;
  double weight = 0;
  std::vector<LossFigure> figures = {};  // of this batch, for people, not for training
};

class OnnxGraph;

// Threads: any number of threads may call the const functions at once.
class Head {
 public:
  virtual ~Head() = default;

  // Which of the encoder's states forward() reads.
  [[nodiscard]] virtual States reads() const = 0;
  // Returns whether forward() calls Encoder::pool(). The model of a head that does not has no
  // parameters of the pooler, as transformers' has none.
  [[nodiscard]] virtual bool reads_pooler() const { return true; }
  // Returns the outputs, fp32; the first dimension is the samples' or the tokens'. `states` are
  // what Encoder::encode() returned for reads().
  [[nodiscard]] virtual at::Tensor forward(const Encoder& encoder,
                                           const Pass& pass,
                                           const at::Tensor& states,
                                           const Batch& batch) const = 0;
  [[nodiscard]] virtual Loss loss(const at::Tensor& outputs, const Batch& batch) const = 0;
  // Returns the names of all figures that loss() may report, without repetition.
  [[nodiscard]] virtual std::vector<std::string> figures() const { return {}; }
  // Returns how much the predictions of `others` differ from those of `outputs`: the
  // Kullback-Leibler divergence of each sample, with the mean and weight of loss(). A task whose
  // options have regularization (trainer/tasks/regularization.h) must define it.
  [[nodiscard]] virtual Loss divergence(const at::Tensor& /*outputs*/,
                                        const at::Tensor& /*others*/,
                                        const Batch& /*batch*/) const {
    throw Error(ErrorCode::invalid_argument, "this head does not compare predictions");
  }
  // Adds what forward() computes in evaluation to a graph of ONNX, with its outputs. `states` has
  // those of all tokens, padded (trainer/model/onnx_encoder.h). Throws invalid_argument if the head
  // has no such form.
  virtual void add_to(OnnxGraph& /*graph*/, const std::string& /*states*/) const {
    throw Error(ErrorCode::invalid_argument, "models of this task have no ONNX form");
  }
};

// Makes a head and adds its parameters, under Hugging Face's names.
using HeadMaker =
    std::function<std::unique_ptr<Head>(const EncoderSpec& config, Parameters& parameters)>;

}  // namespace bp::trainer
