#include "trainer/train/loop/precision_difference.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>

#include "base/report/escape.h"
#include "base/text.h"
#include "trainer/train/forward_blocks.h"

namespace bp::trainer {
namespace {}  // namespace

PrecisionDifference difference_from_fp32(Bert& model, const std::vector<Batch>& blocks) {
  model.evaluate_as_trained(false);
  const std::vector<at::Tensor> exact = forward_blocks(model, blocks);
  model.evaluate_as_trained(true);
  const std::vector<at::Tensor> rounded = forward_blocks(model, blocks);
  PrecisionDifference difference;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    difference.samples += blocks[b].rows;
    if (exact[b].numel() == 0) continue;
    const auto largest = (rounded[b] - exact[b]).abs().max().item<double>();
    difference.largest = std::max(difference.largest, largest);
    if (exact[b].dim() < 2 || exact[b].size(-1) < 2) continue;
    const at::Tensor changed = rounded[b].argmax(-1) != exact[b].argmax(-1);
    difference.choices += changed.numel();
    difference.changed += changed.sum().item<std::int64_t>();
  }
  return difference;
}

std::string text_of(const PrecisionDifference& difference, Precision precision) {
  const std::string choices = difference.choices == 0
                                  ? ""
                                  : concat(", and ", difference.changed, " of ", difference.choices,
                                           " have another largest one");
  return concat(name_of(precision), " beside fp32, samples 1 to ", difference.samples,
                ": outputs differ by at most ", brief(difference.largest, 3), choices);
}

}  // namespace bp::trainer
