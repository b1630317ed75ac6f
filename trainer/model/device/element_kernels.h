// The kernels that go through matrices in pieces of 16 bytes, or element by element. A body is
// called once for each piece, in any order, with the addresses of its ranges (model_operations.h).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "trainer/model/device/model_kernels.h"
#include "trainer/model/device/pack.h"

namespace bp::trainer::device {

// Division of 32-bit numbers is several times as fast on a device as that of 64-bit ones. No call
// has an index beyond.
using Index = std::uint32_t;

// Call i of a kernel with one call for each pack of a row and each of `rows` rows, or pieces of
// rows.
struct PackOfRow {
  Index row;
  Index pack;
  BP_ON_DEVICE PackOfRow(std::size_t i, int packs)
      : row(static_cast<Index>(i) / static_cast<Index>(packs)),
        pack(static_cast<Index>(i) % static_cast<Index>(packs)) {}
};

// e^(-x^2/2) / sqrt(2 pi), and its integral up to x: by formula 7.1.26 of Abramowitz and Stegun, as
// on the host.
struct Normal {
  float below;
  float density;
};
template <class T>
[[nodiscard]] BP_ON_DEVICE Normal normal(float x) {
  const float t = inverse<T>(1.0F + 0.3275911F * 0.70710678F * fabsf(x));
  const float p = ((((1.061405429F * t - 1.453152027F) * t + 1.421413741F) * t - 0.284496736F) * t +
                   0.254829592F) *
                  t;
  const float e = exponential<T>(-0.5F * x * x);
  const float tail = 0.5F * p * e;
  return {x < 0 ? tail : 1.0F - tail, 0.39894228F * e};
}

// The same by the approximation (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2, as on the host.
template <class T>
[[nodiscard]] BP_ON_DEVICE Normal normal_by_tanh(float x) {
  const float square = 0.044715F * x * x;
  const float z = 1.59576912F * x * (1.0F + square);
  const float e = exponential<T>(-fabsf(z));
  const float above = inverse<T>(1.0F + e);  // at |z|
  const float slope = 1.59576912F * (1.0F + 3.0F * square);
  return {.below = z < 0 ? e * above : above, .density = e * above * above * slope};
}
template <class T, bool by_tanh>
[[nodiscard]] BP_ON_DEVICE Normal distribution(float x) {
  if constexpr (by_tanh) return normal_by_tanh<T>(x);
  return normal<T>(x);
}

template <class T, int count>
struct EmbedPack {
  int packs;  // in a row
  BP_ON_DEVICE void operator()(std::size_t i, void* const* at) const {
    using Out = Pack<T, count>;
    using In = Pack<float, count>;
    const auto [token, pack] = PackOfRow(i, packs);
    const auto part_of = [&](int table, int index) {
      const auto row = static_cast<std::size_t>(input<std::int64_t>(at, index)[token]);
      return input<In>(at, table)[row * static_cast<std::size_t>(packs) + pack];
    };
    const In word = part_of(4, 1);
    const In position = part_of(5, 2);
    const In kind = part_of(6, 3);
    Out sum;
    for (int k = 0; k < count; ++k) store(sum.v[k], word.v[k] + position.v[k] + kind.v[k]);
    output<Out>(at, 0)[i] = sum;
  }
};

// One call for each pack of each position.
template <int count>
struct PositionSums {
  int packs;
  std::int64_t samples;
  BP_ON_DEVICE void operator()(std::size_t i, void* const* at) const {
    using Word = Pack<float, count>;
    const auto [place, pack] = PackOfRow(i, packs);
    const auto* const firsts = input<std::int64_t>(at, 2);
    const auto* const lengths = input<std::int64_t>(at, 3);
    Word sum{};
    for (std::int64_t s = 0; s < samples; ++s) {
      if (place >= lengths[s]) continue;
      const Word d =
          input<Word>(at, 1)[static_cast<std::size_t>((firsts[s] + place) * packs) + pack];
      for (int k = 0; k < count; ++k) sum.v[k] += d.v[k];
    }
    output<Word>(at, 0)[i] = sum;
  }
};

// One call for each pack of columns and each piece of the tokens, which are every pieces-th one.
template <int count>
struct TypeSums {
  int packs;
  int pieces;
  int types;
  std::int64_t tokens;
  BP_ON_DEVICE void operator()(std::size_t i, void* const* at) const {
    using Word = Pack<float, count>;
    const auto [piece, pack] = PackOfRow(i, packs);
    const auto* const type = input<std::int64_t>(at, 2);
    for (int k = 0; k < types; ++k) {
      Word sum{};
      for (std::int64_t t = piece; t < tokens; t += pieces) {
        if (type[t] != k) continue;
        const Word d = input<Word>(at, 1)[static_cast<std::size_t>(t * packs) + pack];
        for (int j = 0; j < count; ++j) sum.v[j] += d.v[j];
      }
      output<Word>(at, 0)[static_cast<std::size_t>((piece * types + k) * packs) + pack] = sum;
    }
  }
};

template <class T, int count, bool by_tanh>
struct GeluPack {
  int packs;
  BP_ON_DEVICE void operator()(std::size_t i, void* const* at) const {
    using Word = Pack<T, count>;
    const Word x = input<Word>(at, 1)[i];
    const auto* const bias = input<float>(at, 2) + PackOfRow(i, packs).pack * count;
    Word y;
    for (int k = 0; k < count; ++k) {
      const float u = load(x.v[k]) + bias[k];
      store(y.v[k], u * distribution<T, by_tanh>(u).below);
    }
    output<Word>(at, 0)[i] = y;
  }
};

// One call for each pack of columns and each piece of the rows, which are every pieces-th one.
template <class T, int count, bool by_tanh>
struct GeluBackwardColumns {
  int packs;
  int pieces;
  std::int64_t rows;
  BP_ON_DEVICE void operator()(std::size_t i, void* const* at) const {
    using Word = Pack<T, count>;
    const auto [piece, pack] = PackOfRow(i, packs);
    const auto* const bias = input<float>(at, 4) + pack * count;
    float sum[count] = {};
    for (std::int64_t r = piece; r < rows; r += pieces) {
      const std::size_t place = static_cast<std::size_t>(r * packs) + pack;
      const Word dy = input<Word>(at, 2)[place];
      const Word x = input<Word>(at, 3)[place];
      Word dx;
      for (int k = 0; k < count; ++k) {
        const float u = load(x.v[k]) + bias[k];
        const Normal n = distribution<T, by_tanh>(u);
        const float d = load(dy.v[k]) * (n.below + u * n.density);
        sum[k] += d;
        store(dx.v[k], d);
      }
      output<Word>(at, 0)[place] = dx;
    }
    float* const sums = output<float>(at, 1) + i * count;
    for (int k = 0; k < count; ++k) sums[k] = sum[k];
  }
};

// The sums over the rows of dy * normed, dy and dx.
template <class T, int count>
struct NormSumsColumns {
  int packs;
  int pieces;
  std::int64_t rows;
  BP_ON_DEVICE void operator()(std::size_t i, void* const* at) const {
    using Word = Pack<T, count>;
    const auto [piece, pack] = PackOfRow(i, packs);
    float gamma[count] = {};
    float beta[count] = {};
    float bias[count] = {};
    for (std::int64_t r = piece; r < rows; r += pieces) {
      const std::size_t place = static_cast<std::size_t>(r * packs) + pack;
      const Word dx = input<Word>(at, 1)[place];
      const Word dy = input<Word>(at, 2)[place];
      const Word z = input<Word>(at, 3)[place];
      const float mean = input<float>(at, 4)[r];
      const float rstd = input<float>(at, 5)[r];
      for (int k = 0; k < count; ++k) {
        const float d = load(dy.v[k]);
        gamma[k] += d * ((load(z.v[k]) - mean) * rstd);
        beta[k] += d;
        bias[k] += load(dx.v[k]);
      }
    }
    const std::size_t width = static_cast<std::size_t>(packs) * count;
    float* const sums =
        output<float>(at, 0) + static_cast<std::size_t>(piece) * 3 * width + pack * count;
    for (int k = 0; k < count; ++k) {
      sums[k] = gamma[k];
      sums[width + k] = beta[k];
      sums[2 * width + k] = bias[k];
    }
  }
};

// A pack of a token's row as part of a head. `packs` are those of a head.
struct HeadPack {
  int part;
  Index head;
  Index offset;  // in the head, in packs
};
[[nodiscard]] BP_ON_DEVICE inline HeadPack head_pack(const Heads& heads, int packs, Index pack) {
  const Index head = pack / static_cast<Index>(packs);
  const auto count = static_cast<Index>(heads.heads);
  return {static_cast<int>(head / count), head % count, pack % static_cast<Index>(packs)};
}
// Returns where it lies in the part's matrices.
[[nodiscard]] BP_ON_DEVICE inline std::size_t place_of(
    const Heads& heads, int packs, const HeadPack& pack, Index sample, Index place) {
  const Index row = (sample * static_cast<Index>(heads.heads) + pack.head) *
                        static_cast<Index>(heads.length[pack.part]) +
                    place;
  return std::size_t{row} * static_cast<std::size_t>(packs) + pack.offset;
}

// One call for each pack of each place of each sample.
template <class T, int count>
struct SplitHeadsPack {
  Heads heads;
  int packs;  // of a head
  bool has_bias;
  BP_ON_DEVICE void operator()(std::size_t i, void* const* at) const {
    using Word = Pack<T, count>;
    const auto width = static_cast<Index>(heads.parts * heads.heads * packs);
    const auto [row, pack] = PackOfRow(i, static_cast<int>(width));
    const auto places = static_cast<Index>(heads.first_only ? 1 : heads.longest);
    const Index sample = row / places;
    const Index place = row % places;
    const HeadPack to = head_pack(heads, packs, pack);
    if (place >= static_cast<Index>(heads.length[to.part])) return;
    Word numbers;
    if (place < static_cast<Index>(input<std::int64_t>(at, 4)[sample])) {
      const std::size_t token =
          heads.first_only ? sample
                           : static_cast<std::size_t>(input<std::int64_t>(at, 3)[sample]) + place;
      numbers = input<Word>(at, 5)[token * width + pack];
      if (has_bias) {
        const auto* const bias = input<float>(at, 6) + pack * count;
        for (int k = 0; k < count; ++k) store(numbers.v[k], load(numbers.v[k]) + bias[k]);
      }
    } else {
      for (int k = 0; k < count; ++k) store(numbers.v[k], 0.0F);
    }
    output<Word>(at, to.part)[place_of(heads, packs, to, sample, place)] = numbers;
  }
};

// One call for each pack of columns and each piece of the tokens, which are every pieces-th one.
template <class T, int count>
struct MergeHeadsColumns {
  Heads heads;
  int packs;  // of a head
  int pieces;
  bool sums;
  BP_ON_DEVICE void operator()(std::size_t i, void* const* at) const {
    using Word = Pack<T, count>;
    const auto width = static_cast<Index>(heads.parts * heads.heads * packs);
    const Index pack = static_cast<Index>(i) % width;
    const HeadPack from = head_pack(heads, packs, pack);
    const auto longest = static_cast<Index>(heads.longest);
    const auto rows = static_cast<Index>(heads.first_only ? heads.samples : heads.tokens);
    float sum[count] = {};
    for (Index r = static_cast<Index>(i) / width; r < rows; r += static_cast<Index>(pieces)) {
      Index sample = r;
      Index place = 0;
      if (!heads.first_only) {
        const auto padded = static_cast<Index>(input<std::int64_t>(at, 3)[r]);
        sample = padded / longest;
        place = padded % longest;
      }
      Word numbers;
      if (place < static_cast<Index>(heads.length[from.part])) {
        numbers = input<Word>(at, from.part)[place_of(heads, packs, from, sample, place)];
      } else {
        for (int k = 0; k < count; ++k) store(numbers.v[k], 0.0F);
      }
      for (int k = 0; k < count; ++k) sum[k] += load(numbers.v[k]);
      output<Word>(at, 4)[std::size_t{r} * width + pack] = numbers;
    }
    if (!sums) return;
    float* const to = output<float>(at, 5) + i * count;
    for (int k = 0; k < count; ++k) to[k] = sum[k];
  }
};

}  // namespace bp::trainer::device
