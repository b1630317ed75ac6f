// How the gradients of a model are laid out in buckets: pure arithmetic, the same on every rank
// that has the same parameters and options.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bp/torch/elementwise.h"
#include "bp/types.h"

namespace bp {

struct GradientSize {
  std::size_t count = 0;  // elements
  DataType type = DataType::f32;
};

// The part of a bucket that belongs to one gradient, in elements.
struct Slot {
  std::size_t parameter = 0;  // index into the given sizes
  std::size_t offset = 0;     // at a multiple of 64 bytes
  std::size_t count = 0;
};

struct BucketPlan {
  DataType type = DataType::f32;
  DataType wire = DataType::f32;  // the type in which it travels: its own, or a narrower one
  std::size_t count = 0;          // elements, with the gaps between slots
  std::vector<Slot> slots = {};
};

struct BucketLimits {
  std::size_t first_bytes = 0;
  std::size_t bytes = 0;
  DataType wire = DataType::f32;  // of f32 gradients; others travel in their own type
};

// Fills buckets in the order in which gradients are expected, with one open bucket for each type,
// and returns them in the order in which they become complete. A gradient that would overflow its
// bucket opens the next one. A gradient larger than the limit has a bucket of its own. The last
// bucket is f32, also on the wire, and may be empty: it carries the window's totals at its end.
// `order` must have each gradient's index once.
[[nodiscard]] std::vector<BucketPlan> plan_buckets(std::span<const GradientSize> gradients,
                                                   std::span<const std::size_t> order,
                                                   const BucketLimits& limits);

// Elements of a gradient that one thread of one rank adds up, whatever their numbers are, so that
// the sum of its squares always has the same bits.
inline constexpr std::size_t kSquaresPiece = ParameterParts::kPiece;
[[nodiscard]] constexpr std::size_t pieces_of(std::size_t count) {
  return (count + kSquaresPiece - 1) / kSquaresPiece;
}

// Returns how many elements of a bucket each owner has: whole pieces of the gradients in it, in
// proportion to the shares, the first owner the first ones. A piece has the gap that follows it.
// Shares are not negative, and some is positive.
[[nodiscard]] std::vector<std::size_t> owned_counts(const BucketPlan& plan,
                                                    std::span<const double> shares);

// Returns the order that is expected before the first backward pass: from n - 1 to 0, the reverse
// of the registration.
[[nodiscard]] std::vector<std::size_t> reverse_order(std::size_t gradients);

}  // namespace bp
