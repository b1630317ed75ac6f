#include "trainer/optim/optimizer_options.h"

#include <algorithm>

#include "base/input_error.h"
#include "base/options/value_text.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

struct OwnOptimizer {
  std::string name;
  std::vector<std::string> uses;  // names of options
  OptimizerOptions usual;
};

// The defaults are those of torch.optim, of Chen et al. 2023 (lion) and of FusedLAMB (lamb).
const std::vector<OwnOptimizer>& table() {
  static const std::vector<OwnOptimizer> kOptimizers = {
      {kAdamW, {"betas", "epsilon"}, {}},
      {"adam", {"betas", "epsilon"}, {}},
      {"sgd", {"momentum", "nesterov"}, {}},
      {"lion", {"betas"}, {.beta2 = 0.99}},
      {"lamb", {"betas", "epsilon"}, {.epsilon = 1e-6}},
      {"adadelta", {"rho", "epsilon"}, {.epsilon = 1e-6}},
  };
  return kOptimizers;
}

bool uses(const OwnOptimizer& optimizer, const std::string& option) {
  return std::ranges::find(optimizer.uses, option) != optimizer.uses.end();
}

// That of a program that extends bert_train uses none of these options.
OwnOptimizer entry_of(const std::string& name) {
  const auto found = std::ranges::find(table(), name, &OwnOptimizer::name);
  return found == table().end() ? OwnOptimizer{name, {}, {}} : *found;
}

double chosen(double value, double usual) { return value < 0 ? usual : value; }

}  // namespace

OptimizerOptions optimizer_options(const TrainOptions& options) {
  const OptimizerOptions usual = entry_of(options.optimizer).usual;
  return {.beta1 = chosen(options.beta1, usual.beta1),
          .beta2 = chosen(options.beta2, usual.beta2),
          .epsilon = chosen(options.epsilon, usual.epsilon),
          .momentum = chosen(options.momentum, usual.momentum),
          .nesterov = options.nesterov,
          .rho = chosen(options.rho, usual.rho)};
}

std::vector<std::pair<std::string, std::string>> optimizer_settings(const TrainOptions& options) {
  const OptimizerOptions all = optimizer_options(options);
  std::vector<std::pair<std::string, std::string>> settings = {
      {"betas", concat(all.beta1, ",", all.beta2)},
      {"epsilon", concat(all.epsilon)},
      {"momentum", concat(all.momentum)},
      {"rho", concat(all.rho)}};
  const OwnOptimizer optimizer = entry_of(options.optimizer);
  for (auto& [option, value] : settings) {
    if (!uses(optimizer, option)) value.clear();
  }
  return settings;
}

std::vector<std::string> optimizers_with(const std::string& option) {
  std::vector<std::string> names;
  for (const OwnOptimizer& one : table()) {
    if (uses(one, option)) names.push_back(one.name);
  }
  return names;
}

void check_optimizer_options(const TrainOptions& options) {
  if (options.nesterov && options.momentum <= 0) {
    throw InputError(2, "--nesterov has no effect without momentum",
                     "add --momentum 0.9, or leave out --nesterov");
  }
}

std::pair<double, double> parse_betas(const std::string& text) {
  const std::size_t comma = text.find(',');
  const auto beta_in = [](std::string_view part) { return number_in<double>(part).value_or(-1); };
  const double first = beta_in(text.substr(0, comma));
  const double second = comma == std::string::npos ? -1 : beta_in(text.substr(comma + 1));
  const auto fits = [](double beta) { return beta >= 0 && beta < 1; };
  if (!fits(first) || !fits(second)) {
    throw InputError(2, concat("--betas: '", text, "' is not two numbers from 0 to below 1"),
                     "the shares that the two means keep in a step: 0.9,0.999");
  }
  return {first, second};
}

std::vector<std::string> optimizer_names(const Extensions& extensions) {
  std::vector<std::string> names;
  for (const OwnOptimizer& one : table()) names.push_back(one.name);
  for (const auto& own : extensions.optimizers) names.push_back(own->name());
  return names;
}

}  // namespace bp::trainer
