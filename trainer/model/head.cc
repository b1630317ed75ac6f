#include "trainer/model/head.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/stack.h>

namespace bp::trainer {

std::vector<Figure> read_figures(const std::vector<LossFigure>& figures) {
  if (figures.empty()) return {};
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> sums;
  for (const LossFigure& figure : figures) {
    sums.push_back(figure.sum.to(figures.front().sum.device()).to(at::kDouble).reshape({}));
  }
  const at::Tensor host = at::stack(sums).cpu();
  std::vector<Figure> read;
  for (const LossFigure& figure : figures) {
    read.push_back({figure.name, host.const_data_ptr<double>()[read.size()], figure.weight});
  }
  return read;
}

}  // namespace bp::trainer
