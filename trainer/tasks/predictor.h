// Makes rows for people of what a model puts out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/batch.h"
#include "trainer/data/sample_store.h"
#include "trainer/report/predictions.h"

namespace at {
class Tensor;
}

namespace bp::trainer {

// Threads: any number of threads may use it at once.
class Predictor {
 public:
  virtual ~Predictor() = default;

  // The columns of a sample's row, behind those of its ids.
  [[nodiscard]] virtual std::vector<PredictionColumn> columns() const = 0;
  // Appends the numbers that the rows of a block's samples are made of. `outputs`: the head's.
  virtual void keep(const Batch& block,
                    const at::Tensor& outputs,
                    std::vector<float>& kept) const = 0;
  // Returns how many numbers are kept of this sample.
  [[nodiscard]] virtual std::size_t kept_of(const Sample& sample) const = 0;
  // Sets the fields of the sample's row, one for each column, from what was kept of it.
  virtual void set_fields(const Sample& sample,
                          std::span<const float> kept,
                          std::vector<std::string>& fields) const = 0;

  // Returns a line of the file that the task's competition takes, from what was kept of a sample,
  // and the first line of that file; "" for a task without one.
  [[nodiscard]] virtual std::string competition_line(const Sample& /*sample*/,
                                                     std::span<const float> /*kept*/) const {
    return "";
  }
  [[nodiscard]] virtual std::string competition_header() const { return ""; }
};

}  // namespace bp::trainer
