#include "comm/torch/step_agreement.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/stack.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string>
#include <string_view>
#include <tuple>
#include <typeinfo>

#include "base/mix.h"
#include "base/text.h"
#include "comm/torch/same_lines.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

namespace optim = torch::optim;

using VisitOne = std::function<void(std::string_view name, double value)>;

void list(const optim::SGDOptions& options, const VisitOne& visit) {
  visit("lr", options.lr());
  visit("momentum", options.momentum());
  visit("dampening", options.dampening());
  visit("weight_decay", options.weight_decay());
  visit("nesterov", options.nesterov());
}

template <class Options>  // AdamOptions or AdamWOptions
void list_adam(const Options& options, const VisitOne& visit) {
  visit("lr", options.lr());
  visit("beta1", std::get<0>(options.betas()));
  visit("beta2", std::get<1>(options.betas()));
  visit("eps", options.eps());
  visit("weight_decay", options.weight_decay());
  visit("amsgrad", options.amsgrad());
}
void list(const optim::AdamOptions& options, const VisitOne& visit) { list_adam(options, visit); }
void list(const optim::AdamWOptions& options, const VisitOne& visit) { list_adam(options, visit); }

void list(const optim::AdagradOptions& options, const VisitOne& visit) {
  visit("lr", options.lr());
  visit("lr_decay", options.lr_decay());
  visit("weight_decay", options.weight_decay());
  visit("initial_accumulator_value", options.initial_accumulator_value());
  visit("eps", options.eps());
}

void list(const optim::RMSpropOptions& options, const VisitOne& visit) {
  visit("lr", options.lr());
  visit("alpha", options.alpha());
  visit("eps", options.eps());
  visit("weight_decay", options.weight_decay());
  visit("momentum", options.momentum());
  visit("centered", options.centered());
}

template <class Options>
bool list_if(const optim::OptimizerOptions& options, const VisitOne& visit) {
  const auto* const own = dynamic_cast<const Options*>(&options);
  if (own != nullptr) list(*own, visit);
  return own != nullptr;
}

bool is_listed(const optim::OptimizerOptions& options, const VisitOne& visit) {
  return list_if<optim::AdamWOptions>(options, visit) ||
         list_if<optim::SGDOptions>(options, visit) ||
         list_if<optim::AdamOptions>(options, visit) ||
         list_if<optim::RMSpropOptions>(options, visit) ||
         list_if<optim::AdagradOptions>(options, visit);
}

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
                             const std::vector<std::string>& may_differ,
                             const torch::optim::Optimizer& optimizer)
    : comm_(comm), parameters_(parameters), options_(optimizer), written_(parameters.size()) {
  for (const Parameter& parameter : parameters) {
    may_differ_.push_back(std::ranges::count(may_differ, parameter.name) > 0);
  }
  if (comm.size() > 1) marks_.resize(parameters.size());
  run_write([] {});
  confirmed();
}

// LibTorch counts writes, but its own SGD steps behind the counter's back. So the last element
// counts, too.
std::uint64_t StepAgreement::mark_of(std::size_t i) const {
  MixHash mark;
  mark.add(static_cast<std::uint64_t>(parameters_[i].tensor._version()));
  mark.add(last_of(i));
  return mark.value();
}

std::string_view StepAgreement::last_of(std::size_t i) const {
  return may_differ_[i] ? std::string_view() : last_element_of(parameters_[i].tensor);
}

void StepAgreement::notice_writes() {
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    const std::uint64_t mark = mark_of(i);
    if (mark != marks_[i]) written_[i] = true;
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
  for (std::size_t i = 0; i < parameters_.size(); ++i) hash.add(last_of(i));
  std::vector<at::Tensor> sums;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (written_[i]) sums.push_back(sum_of_bits(parameters_[i].tensor));
  }
  if (sums.empty()) return hash.value();
  const at::Tensor host = at::stack(sums).cpu();  // a device is waited for once
  const auto* next = host.const_data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!written_[i]) continue;
    hash.add(i);
    hash.add(static_cast<std::uint64_t>(*next++));
  }
  return hash.value();
}

void StepAgreement::settle_difference() {
  std::vector<std::string> lines;
  options_.for_each([&](std::size_t group, std::string_view name, double value) {
    lines.push_back(concat("group ", group, " ", name, " ", text_of(value)));
  });
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (may_differ_[i] && !written_[i]) continue;
    lines.push_back(concat(parameters_[i].name, " with bits ",
                           sum_of_bits(parameters_[i].tensor).item<std::int64_t>()));
  }
  require_same_lines(comm_, lines, "DistributedOptimizer::step",
                     "begin with broadcast_parameters(), give the wrapped optimizer the same "
                     "options and state on every rank, write parameters, and gradients after "
                     "reduce(), only with the same values on every rank, clip by clip_grad_norm(), "
                     "and call step() of the DistributedOptimizer, not of optimizer()");
  confirmed();
}

void WrappedOptions::for_each(const Visit& visit) {
  const auto& groups = optimizer_.param_groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!groups[i].has_options()) continue;
    const optim::OptimizerOptions& options = groups[i].options();
    const VisitOne visit_one = [&](std::string_view name, double value) { visit(i, name, value); };
    const std::type_index type = typeid(options);
    if (is_listed(options, visit_one) || std::ranges::count(without_rate_, type) > 0) continue;
    try {
      visit_one("lr", options.get_lr());
    } catch (const c10::Error&) {  // not implemented; an exception in each step would be slow
      without_rate_.push_back(type);
    }
  }
}

}  // namespace bp
