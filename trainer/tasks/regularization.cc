#include "trainer/tasks/regularization.h"

namespace bp::trainer {

void Regularization::add_options(OptionSet& set) {
  set.number({"r-drop", "Weight of R-Drop: two dropout masks, one prediction; 0: off"}, r_drop, 0,
             1e6);
  set.number({"vat", "Weight of virtual adversarial training; 0: off"}, vat, 0, 1e6);
  set.number({"vat-eps", "Norm of VAT's perturbation of a sample's embeddings"}, vat_eps, 1e-6,
             1e6);
  set.number({"vat-xi", "Norm of the noise from which VAT finds its perturbation"}, vat_xi, 1e-12,
             1e6);
}

}  // namespace bp::trainer
