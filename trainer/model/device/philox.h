// The random numbers of dropout, one lane at a time: those of kernels::random_block(), which
// computes the 16 lanes of a block of 128 elements together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/device/kernels/element.h"
#include "trainer/model/device/model_kernels.h"

namespace bp::trainer::device {

inline constexpr int kBlock = 128;  // elements
inline constexpr int kBlockLanes = 16;

// A lane's numbers of 16 bits, for the elements lane, lane + 16, ... of the block.
struct Random {
  std::uint32_t words[4] = {0, 0, 0, 0};
  [[nodiscard]] BP_ON_DEVICE std::uint32_t of(int i) const {
    const std::uint32_t word = words[i / 2];
    return i % 2 == 0 ? word & 0xffffU : word >> 16U;
  }
};

// The row's part of the counter.
struct DropRow {
  std::uint32_t sample = 0;
  std::uint32_t row = 0;
};

// `samples` and `places` are drop's, at the address where the kernel may read them.
[[nodiscard]] BP_ON_DEVICE inline DropRow drop_row(const Drop& drop,
                                                   std::size_t row,
                                                   const std::int64_t* samples,
                                                   const std::int64_t* places) {
  if (drop.heads == 0) {
    return {static_cast<std::uint32_t>(samples[row]), static_cast<std::uint32_t>(places[row])};
  }
  const auto r = static_cast<std::uint32_t>(row);
  const auto queries = static_cast<std::uint32_t>(drop.queries);
  const auto heads = static_cast<std::uint32_t>(drop.heads);
  const std::uint32_t matrix = r / queries;
  return {static_cast<std::uint32_t>(samples[matrix / heads]), matrix % heads << 16U | r % queries};
}

// Philox4x32-10 (Salmon et al. 2011).
[[nodiscard]] BP_ON_DEVICE inline Random philox(const Drop& drop,
                                                const DropRow& row,
                                                int block,
                                                int lane) {
  auto c0 = static_cast<std::uint32_t>(block * kBlockLanes + lane);
  std::uint32_t c1 = row.row;
  std::uint32_t c2 = row.sample;
  std::uint32_t c3 = drop.site;
  std::uint32_t k0 = drop.key[0];
  std::uint32_t k1 = drop.key[1];
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * c0;
    const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * c2;
    c0 = static_cast<std::uint32_t>(b >> 32U) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(b);
    c2 = static_cast<std::uint32_t>(a >> 32U) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(a);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace bp::trainer::device
