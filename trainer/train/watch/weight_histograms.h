// Histograms of a model's weights, for TensorBoard.
#pragma once

#include <cstdint>

#include "trainer/events/event_log.h"
#include "trainer/model/parameters.h"

namespace bp::trainer {

// Returns how the numbers are spread over 30 ranges of equal width; those that are not finite are
// left out.
[[nodiscard]] Histogram histogram_of(const at::Tensor& numbers);

// Writes a histogram of each parameter. Takes about as long as reading the parameters twice.
void write_weights(EventLog& events, std::int64_t step, const NamedTensors& parameters);

}  // namespace bp::trainer
