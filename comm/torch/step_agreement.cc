#include "comm/torch/step_agreement.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string>
#include <string_view>

#include "base/mix.h"
#include "base/text.h"
#include "comm/torch/agreement.h"

namespace bp {
namespace {

// Returns the sum of the tensor's elements as integers of their size, a scalar on its device. It
// does not depend on the order of addition.
at::Tensor sum_of_bits(const at::Tensor& tensor) {
  const std::size_t size = tensor.element_size();
  const at::ScalarType integers = size == 8 ? at::kLong : size == 4 ? at::kInt : at::kShort;
  return tensor.detach().view(integers).sum(at::kLong);
}

// All digits, so that different numbers have different texts.
std::string text_of(double value) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr};
}

}  // namespace

StepAgreement::StepAgreement(Communicator& comm,
                             const std::vector<Parameter>& parameters,
                             const std::vector<std::string>& sparse,
                             const torch::optim::Optimizer& optimizer)
    : comm_(comm), parameters_(parameters), options_(optimizer), written_(parameters.size()) {
  for (const Parameter& parameter : parameters) {
    is_sparse_.push_back(std::ranges::count(sparse, parameter.name) > 0);
  }
  if (comm.size() > 1) marks_.resize(parameters.size());
  run_write([] {});
  confirmed();
}

// LibTorch counts writes, but its own SGD steps behind the counter's back. So the last element
// counts, too. One on a device could not be read without waiting for it.
std::uint64_t StepAgreement::mark_of(std::size_t i) const {
  const at::Tensor& tensor = parameters_[i].tensor;
  MixHash mark;
  mark.add(static_cast<std::uint64_t>(tensor._version()));
  if (tensor.is_cpu() && tensor.numel() > 0 && !is_sparse_[i]) {
    const auto* const bytes = static_cast<const char*>(tensor.const_data_ptr());
    mark.add(
        std::string_view(bytes + tensor.nbytes() - tensor.element_size(), tensor.element_size()));
  }
  return mark.value();
}

void StepAgreement::notice_writes() {
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    const std::uint64_t mark = mark_of(i);
    if (!written_[i] && mark != marks_[i]) written_[i] = 0;
    marks_[i] = mark;
  }
}

std::uint64_t StepAgreement::fingerprint() {
  if (suspended_ || comm_.size() == 1) return 0;
  MixHash hash;
  options_.for_each([&](std::size_t group, std::string_view /*name*/, double value) {
    hash.add(group);
    hash.add(std::bit_cast<std::uint64_t>(value));
  });
  notice_writes();
  std::vector<at::Tensor> sums;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (written_[i]) sums.push_back(sum_of_bits(parameters_[i].tensor));
  }
  if (sums.empty()) return hash.value();
  const at::Tensor host = at::stack(sums).cpu();  // a device is waited for once
  const auto* next = host.const_data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!written_[i]) continue;
    written_[i] = static_cast<std::uint64_t>(*next++);
    hash.add(i);
    hash.add(*written_[i]);
  }
  return hash.value();
}

void StepAgreement::refuse_difference() {
  std::vector<std::string> lines;
  options_.for_each([&](std::size_t group, std::string_view name, double value) {
    lines.push_back(concat("group ", group, " ", name, " ", text_of(value)));
  });
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    lines.push_back(parameters_[i].name);
    if (written_[i]) lines.back() += concat(" written outside of step(), bits ", *written_[i]);
  }
  require_same_lines(comm_, lines, "DistributedOptimizer::step",
                     "give the wrapped optimizer the same options on every rank, write parameters "
                     "only with the same values on every rank, and call step() of the "
                     "DistributedOptimizer, not of optimizer()");
}

}  // namespace bp
