// Functions with a known minimum, as spaces and as code. tests/oracle/sampler.py has the same.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <string_view>

#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

inline double number_at(const Parameters& parameters, std::string_view name) {
  return find_value(parameters, name)->number();
}

inline double branin(const Parameters& parameters) {
  constexpr double kPi = std::numbers::pi;
  const double x = number_at(parameters, "x");
  const double y = number_at(parameters, "y");
  const double bent = y - 5.1 / (4 * kPi * kPi) * x * x + 5 / kPi * x - 6;
  return bent * bent + 10 * (1 - 1 / (8 * kPi)) * std::cos(x) + 10;
}

inline double hartmann6(const Parameters& parameters) {
  constexpr std::array<double, 4> kWeight{1.0, 1.2, 3.0, 3.2};
  constexpr double kScale[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                   {0.05, 10, 17, 0.1, 8, 14},
                                   {3, 3.5, 1.7, 10, 17, 8},
                                   {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double kCentre[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                    {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                    {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                    {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double distance = 0;
    for (std::size_t k = 0; k < 6; ++k) {
      const double x = number_at(parameters, "x" + std::to_string(k)) - kCentre[i][k];
      distance += kScale[i][k] * x * x;
    }
    sum += kWeight[i] * std::exp(-distance);
  }
  return -sum;
}

// Reals, whole numbers and categories; momentum is there for sgd only. The minimum is 0: adam,
// lr 10^-3.5, 7 layers, batch 16.
inline double mixed(const Parameters& parameters) {
  const std::string& kind = find_value(parameters, "optimizer")->text();
  const double offset = kind == "adam" ? 0 : kind == "sgd" ? 0.2 : kind == "lion" ? 0.5 : 1;
  const double best_lr = kind == "sgd" ? -1.5 : kind == "lion" ? -4.5 : -3.5;
  const double lr = std::log10(number_at(parameters, "lr")) - best_lr;
  const double layers = number_at(parameters, "layers") - 7;
  const double batch = std::log2(number_at(parameters, "batch")) - 4;
  double value = offset + lr * lr + 0.04 * layers * layers + 0.1 * batch * batch;
  if (const Value* momentum = find_value(parameters, "momentum")) {
    value += 2 * (momentum->number() - 0.9) * (momentum->number() - 0.9);
  }
  return value;
}

struct TestFunction {
  const char* name;
  double (*value)(const Parameters&);
  double minimum;
  const char* space;  // without sampler, trials and seed
};

inline constexpr std::array<TestFunction, 3> kTestFunctions{
    {{"branin", branin, 0.39788735772973816,
      "parameters: {x: {uniform: [-5, 10]}, y: {uniform: [0, 15]}}\n"},
     {"hartmann6", hartmann6, -3.322368011391339,
      "parameters: {x0: {uniform: [0, 1]}, x1: {uniform: [0, 1]}, x2: {uniform: [0, 1]}, "
      "x3: {uniform: [0, 1]}, x4: {uniform: [0, 1]}, x5: {uniform: [0, 1]}}\n"},
     {"mixed", mixed, 0,
      "parameters: {optimizer: [adam, sgd, lion, rmsprop], lr: {loguniform: [1e-6, 1]}, "
      "layers: {int: [1, 12]}, batch: [4, 8, 16, 32, 64], momentum: {uniform: [0, 0.99]}}\n"
      "when: {momentum: {optimizer: sgd}}\n"}}};

}  // namespace bp::launcher::sweep
