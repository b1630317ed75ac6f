// The sums of a vector's squares by LibTorch's threads.
#pragma once

#include <span>

#include "bp/types.h"

namespace bp {

// Writes the sum of the squares of each piece of kSquaresPiece elements (bucket_layout.h), in
// double precision and in a fixed order. There must be as many `sums` as pieces. The type must be
// floating.
void sums_of_squares(const ConstView& elements, std::span<double> sums);

}  // namespace bp
