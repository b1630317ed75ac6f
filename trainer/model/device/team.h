// Divides a row among threads: on a device among the 16 or 32 threads of a team, each of which
// takes 8 neighbours at a time. On the host one thread stands for the whole team, so that the tests
// run the same code there.
#pragma once

#include <cstdint>

#include "trainer/model/device/philox.h"

namespace bp::trainer::device {

// What a thread takes at a time.
inline constexpr int kPack = 8;

// Bit k tells whether element k of a pack is kept.
using Kept = std::uint32_t;

// For rows of at most times * lanes * kPack elements. Bodies get a slot, the index in an array of
// kSlots numbers that a thread keeps, and the first element of a pack, of which the last pack of a
// row may have fewer than kPack.
template <int times, int lanes>
struct HostTeam {
  static constexpr int kSlots = times * lanes * kPack;

  template <class Body>
  void each(int width, const Body& body) const {
    for (int element = 0; element < width; element += kPack) body(element, element);
  }
  // The same with what dropout keeps of the pack.
  template <class Body>
  void each_kept(int width, const Drop& drop, const DropRow& row, const Body& body) const {
    Random random[kBlockLanes];
    for (int element = 0; element < width; element += kPack) {
      if (element % kBlock == 0) {
        for (int lane = 0; lane < kBlockLanes; ++lane) {
          random[lane] = philox(drop, row, element / kBlock, lane);
        }
      }
      Kept kept = 0;
      for (int k = 0; k < kPack; ++k) {
        const int place = element % kBlock + k;
        const std::uint32_t number = random[place % kBlockLanes].of(place / kBlockLanes);
        kept |= static_cast<Kept>(number >= drop.threshold) << static_cast<unsigned>(k);
      }
      body(element, element, kept);
    }
  }
  [[nodiscard]] float sum(float own) const { return own; }
  [[nodiscard]] float max(float own) const { return own; }
  [[nodiscard]] bool leads() const { return true; }
};

#ifdef __CUDACC__
template <int times, int lanes>
struct DeviceTeam {
  static constexpr int kSlots = times * kPack;

  template <class Body>
  __device__ void each(int width, const Body& body) const {
#pragma unroll
    for (int t = 0; t < times; ++t) {
      const int element = (t * lanes + lane()) * kPack;
      if (element < width) body(t * kPack, element);
    }
  }

  // A thread draws the numbers of a lane of philox(), which are for elements 16 apart, and gets
  // those of its pack from the votes of the others.
  template <class Body>
  __device__ void each_kept(int width,
                            const Drop& drop,
                            const DropRow& row,
                            const Body& body) const {
    const int own = lane() % kBlockLanes;  // the lane, and the pack, in a block
    const unsigned shift = (threadIdx.x & 16U) + 8U * (static_cast<unsigned>(own) % 2U);
#pragma unroll
    for (int t = 0; t < times; ++t) {
      const int block = (t * lanes + lane()) / kBlockLanes;
      const Random random = philox(drop, row, block, own);
      Kept kept = 0;
#pragma unroll
      for (int w = 0; w < kPack; ++w) {
        const unsigned votes = __ballot_sync(threads(), random.of(w) >= drop.threshold);
        if (w == own / 2) kept = votes >> shift & 0xffU;
      }
      const int element = (t * lanes + lane()) * kPack;
      if (element < width) body(t * kPack, element, kept);
    }
  }
  __device__ float sum(float own) const {
    for (int other = lanes / 2; other > 0; other /= 2) {
      own += __shfl_xor_sync(threads(), own, other);
    }
    return own;
  }
  __device__ float max(float own) const {
    for (int other = lanes / 2; other > 0; other /= 2) {
      own = fmaxf(own, __shfl_xor_sync(threads(), own, other));
    }
    return own;
  }
  __device__ bool leads() const { return lane() == 0; }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x % lanes); }
  // Of the warp, those of this team.
  __device__ static unsigned threads() {
    return lanes == 32 ? 0xffffffffU : 0xffffU << (threadIdx.x & 16U);
  }
};
#endif

}  // namespace bp::trainer::device
