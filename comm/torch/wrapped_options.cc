#include "comm/torch/wrapped_options.h"

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <tuple>
#include <typeinfo>

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

}  // namespace

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
