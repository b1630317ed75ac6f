// Training may add this to a head's loss, so that predictions depend less on chance:
// trainer/train/methods/step_loss.h has the formulas.
#pragma once

#include "base/options/option_set.h"

namespace bp::trainer {

struct Regularization {
  double r_drop = 0;    // weight of R-Drop; 0: none
  double vat = 0;       // weight of virtual adversarial training; 0: none
  double vat_eps = 2;   // norm of the perturbation of a sample
  double vat_xi = 0.1;  // norm of the noise with which the search for the perturbation begins
  bool operator==(const Regularization&) const = default;

  // Adds the options of a task whose head defines Head::divergence(). The object must live until
  // they are parsed.
  void add_options(OptionSet& set);
};

}  // namespace bp::trainer
