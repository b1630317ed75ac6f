// Holds the options of the optimizers of bert_train. Does not use LibTorch.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bp/trainer/run.h"
#include "trainer/options/options.h"

namespace bp::trainer {

struct OptimizerOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double momentum = 0;
  bool nesterov = false;
  double rho = 0.9;
};

inline constexpr const char* kAdamW = "adamw";

// The names that --optimizer takes: of bert_train, and of the program that extends it. The first is
// the default.
[[nodiscard]] std::vector<std::string> optimizer_names(const Extensions& extensions);

// Returns what `options` choose, and the defaults of their optimizer for the rest.
[[nodiscard]] OptimizerOptions optimizer_options(const TrainOptions& options);

// Returns the same as texts, by the names of the options. The value of an option that the optimizer
// does not use is "".
[[nodiscard]] std::vector<std::pair<std::string, std::string>> optimizer_settings(
    const TrainOptions& options);

// Returns the optimizers that use an option: "momentum".
[[nodiscard]] std::vector<std::string> optimizers_with(const std::string& option);

// Throws InputError (2) for Nesterov's momentum without momentum.
void check_optimizer_options(const TrainOptions& options);

// Reads "0.9,0.999". Throws InputError (2) unless both numbers are at least 0 and below 1.
[[nodiscard]] std::pair<double, double> parse_betas(const std::string& text);

}  // namespace bp::trainer
