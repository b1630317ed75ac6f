// Figures that training steps report beside their loss (bp::Figure): their sums over steps and
// ranks, and the means that people see.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bp/trainer/figure.h"

namespace bp::trainer {

using FigureMeans = std::vector<std::pair<std::string, double>>;

// The sums of the steps of one epoch.
struct EpochFigures {
  double epoch = 0;  // done by its last step; not a whole number if the epoch is not complete
  std::vector<Figure> sums = {};
};

// Adds `more` to the sums of the same names. A new name goes behind the others.
void add(std::vector<Figure>& sums, const std::vector<Figure>& more);
// Adds sums of steps that were made until `epoch`, to the last entry unless its epoch is complete.
void add(std::vector<EpochFigures>& epochs, const std::vector<Figure>& more, double epoch);

// Returns the quotients, without those of weight 0: no step has reported them.
[[nodiscard]] FigureMeans means_of(const std::vector<Figure>& sums);

// Returns "kept_fraction 0.9312, hits 12.0000".
[[nodiscard]] std::string text_of(const FigureMeans& means);

}  // namespace bp::trainer
