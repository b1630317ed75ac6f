// bert_train with a task, a model, an optimizer and a schedule of its own:
//
//   ./own_task mails.csv --task mail --model slim --optimizer signum --schedule root
//   bprun -H localhost:3,127.0.0.1:1 own_task mails.csv --task mail ...
//   ./own_task predict runs/mails more.csv
//
// The task reads a text and two answers, `urgent` and `polite`, each yes or no. It predicts both.
#include <ATen/core/Tensor.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/linear.h>
#include <bp/trainer/run.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

class Mail : public bp::CustomTask {
 public:
  std::string name() const override { return "mail"; }
  std::vector<std::string> answers() const override { return {"urgent", "polite"}; }
  double read_answer(std::size_t /*answer*/, std::string_view text) const override {
    if (text == "yes") return 1;
    if (text == "no") return 0;
    throw std::invalid_argument("is neither yes nor no");
  }

  // A linear layer over the mean of a text's token states.
  bp::EncoderOutput reads() const override { return bp::EncoderOutput::tokens; }
  std::size_t outputs() const override { return 2; }
  std::vector<bp::HeadParameter> parameters(std::int64_t hidden) const override {
    return {{"mail.weight", {2, hidden}}, {"mail.bias", {2}, true}};
  }
  at::Tensor forward(const bp::HeadInput& in) const override {
    const at::Tensor lengths = in.mask.sum(1, /*keepdim=*/true).to(at::kFloat);
    return at::linear(in.states.sum(1).div(lengths), in.parameters[0], in.parameters[1]);
  }
  // Training shows the share of answers that are right, and that of urgent mails.
  std::vector<std::string> figures() const override { return {"right", "urgent"}; }
  at::Tensor losses(const at::Tensor& outputs,
                    const at::Tensor& answers,
                    std::vector<bp::Figure>& report) const override {
    const auto rows = static_cast<double>(answers.size(0));
    const at::Tensor hits = outputs.detach().gt(0).eq(answers.gt(0)).sum();
    report.push_back({"right", hits.item<double>(), 2 * rows});
    report.push_back({"urgent", answers.select(1, 0).sum().item<double>(), rows});
    return at::binary_cross_entropy_with_logits(outputs, answers, {}, {}, at::Reduction::None)
        .mean(1);
  }

  // The share of answers that are right, and of texts with both right.
  std::vector<std::string> scores() const override { return {"accuracy", "both"}; }
  std::vector<double> score(std::span<const bp::ScoredSample> samples) const override {
    double right = 0;
    double both = 0;
    for (const bp::ScoredSample& sample : samples) {
      int hits = 0;
      for (std::size_t i = 0; i < 2; ++i)
        hits += (sample.outputs[i] > 0) == (sample.answers[i] > 0);
      right += hits / 2.0;
      both += hits == 2;
    }
    const auto all = static_cast<double>(samples.size());
    return {right / all, both / all};
  }

  std::vector<std::string> columns() const override { return {"p_urgent", "p_polite"}; }
  std::vector<std::string> predict(std::span<const float> outputs) const override {
    std::vector<std::string> fields;
    for (const float logit : outputs) {
      char text[16];
      std::snprintf(text, sizeof text, "%.4f", 1 / (1 + std::exp(-double{logit})));
      fields.emplace_back(text);
    }
    return fields;
  }
};

// Signum (Bernstein et al. 2018, arXiv:1802.04434): the sign of a mean of gradients.
class Signum : public bp::CustomOptimizer {
 public:
  std::string name() const override { return "signum"; }
  std::vector<std::string> moments() const override { return {"exp_avg"}; }
  void update(at::Tensor& parameter,
              const at::Tensor& gradient,
              std::vector<at::Tensor>& moments,
              const bp::OptimizerStep& step) const override {
    moments[0].mul_(0.9).add_(gradient, 0.1);
    parameter.mul_(1 - step.lr * step.weight_decay).sub_(moments[0].sign(), step.lr);
  }
};

}  // namespace

int main(int argc, char** argv) {
  bp::run_bert_train(
      argc, argv,
      {.tasks = {std::make_shared<Mail>()},
       .models = {{.name = "slim", .layers = 1, .hidden = 64, .heads = 4, .intermediate = 128}},
       .optimizers = {std::make_shared<Signum>()},
       .schedules = {{"root", [](double left) { return std::sqrt(left); }}}});
}
