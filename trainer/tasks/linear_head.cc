#include "trainer/tasks/linear_head.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>

#include "trainer/model/families/family.h"
#include "trainer/model/onnx_encoder.h"

namespace bp::trainer {

LinearHead::LinearHead(const Options& options, const EncoderSpec& config, Parameters& parameters)
    : spec_(config),
      dropout_(options.dropout.value_or(config.head_dropout())),
      classifier_(parameters.linear(names_of(config).classifier,
                                    options.outputs,
                                    config.hidden,
                                    true,
                                    config.classifier_deviation())) {}

at::Tensor LinearHead::forward(const Encoder& encoder,
                               const Pass& pass,
                               const at::Tensor& states,
                               const Batch& /*batch*/) const {
  const Dropout before = pass.dropout(spec_.drops_pooler_input ? dropout_ : 0, kPoolerSite);
  const at::Tensor first = drop(pass.first_layout, states, before);
  const at::Tensor pooled = pass.seen("pooler", encoder.pool(pass, first));
  const at::Tensor x = drop(pass.first_layout, pooled, pass.dropout(dropout_, kHeadSite));
  return pass.seen("classifier", at::linear(x, classifier_.weight.master, classifier_.bias));
}

void LinearHead::add_to(OnnxGraph& graph, const std::string& states) const {
  const OnnxGraph::Value logits =
      graph.linear(add_pooler(graph, spec_, states), names_of(spec_).classifier);
  graph.output(answer(graph, logits), "logits", OnnxGraph::Type::f32,
               {"batch", classifier_.bias.size(0)});
}

OnnxGraph::Value LinearHead::answer(OnnxGraph& /*graph*/, const OnnxGraph::Value& outputs) const {
  return outputs;
}

std::vector<std::string> linear_head_weights(const EncoderSpec& spec) {
  return {names_of(spec).classifier + ".", names_of(spec).pooler_part()};
}

at::Tensor row_divergences(const at::Tensor& logits, const at::Tensor& others) {
  const at::Tensor log_p = at::log_softmax(logits, 1);
  return (log_p.exp() * (log_p - at::log_softmax(others, 1))).sum(1);
}

}  // namespace bp::trainer
