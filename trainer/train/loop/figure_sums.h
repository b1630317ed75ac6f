// Sums the figures that the steps of all ranks report beside their loss.
#pragma once

#include <string>
#include <vector>

#include "bp/communicator.h"
#include "trainer/report/figures.h"

namespace bp::trainer {

// A rank adds up what its own micro-batches report. The ranks exchange their sums only where
// somebody sees them, at a record, an evaluation or a checkpoint, so most steps cost no collective.
class FigureSums {
 public:
  // `names`: those that steps may report, the same on all ranks. Without names nothing is
  // exchanged.
  explicit FigureSums(std::vector<std::string> names);

  // Adds the figures of a micro-batch of the present step. Throws invalid_argument for a name that
  // is not among those of the constructor, and for a negative or NaN weight.
  void add(const std::vector<Figure>& figures);
  // Ends a step. `skipped`: the step made no update; then it drops those of its sums that are not
  // finite, because they say nothing about the model.
  void end_step(bool skipped);

  // Whether there were steps since the last exchange: the same on all ranks.
  [[nodiscard]] bool pending() const { return pending_; }
  // Returns the sums over all ranks since the last exchange. Collective, between steps.
  [[nodiscard]] std::vector<Figure> exchange(Communicator& world);

 private:
  std::vector<Figure> step_;   // of the present step, in the order of the names
  std::vector<Figure> total_;  // of complete steps since the last exchange
  bool pending_ = false;
};

}  // namespace bp::trainer
