// How a head finds the values of a batch that are not tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "trainer/batches/batch.h"

namespace bp::trainer {

// Return values that live as long as the batch. The head that calls them says their shape.
using BatchIntegers = std::function<std::span<const std::int64_t>(const Batch&)>;
using BatchReals = std::function<std::span<const double>(const Batch&)>;

}  // namespace bp::trainer
