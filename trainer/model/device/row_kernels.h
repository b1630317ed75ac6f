// The kernels in which a team computes a row. A body is called once for each row, with the
// addresses of its ranges (model_operations.h) and the team.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "trainer/model/device/pack.h"
#include "trainer/model/device/philox.h"
#include "trainer/model/device/team.h"

namespace bp::trainer::device {

// A row, and whether packs of it are aligned.
struct RowShape {
  int width = 0;
  bool aligned = false;

  [[nodiscard]] BP_ON_DEVICE int count(int element) const {
    return width - element < kPack ? width - element : kPack;
  }
  template <class T>
  [[nodiscard]] BP_ON_DEVICE Numbers load(const T* row, int element) const {
    return load_pack(row + element, count(element), aligned);
  }
  template <class T>
  BP_ON_DEVICE void store(T* row, int element, const Numbers& numbers) const {
    store_pack(row + element, numbers, count(element), aligned);
  }
};

[[nodiscard]] BP_ON_DEVICE inline float factor_of(const Drop& drop, Kept kept, int k) {
  return (kept >> static_cast<unsigned>(k) & 1U) != 0 ? drop.scale : 0.0F;
}

// Calls team.each_kept(); without dropout all is kept, by the factor 1.
template <class Team, class Body>
BP_ON_DEVICE void each_kept(
    const Team& team, int width, const Drop& drop, const DropRow& row, const Body& body) {
  if (drop.threshold == 0) {
    team.each(width, [&](int slot, int i) { body(slot, i, 0xffU); });
  } else {
    team.each_kept(width, drop, row, body);
  }
}

template <class T>
struct AddNormRow {
  RowShape shape;
  float epsilon;
  bool has_bias;
  bool has_residual;
  Drop drop;

  template <class Team>
  BP_ON_DEVICE void operator()(std::size_t r, void* const* at, const Team& team) const {
    const std::size_t begin = r * static_cast<std::size_t>(shape.width);
    T* const kept_z = output<T>(at, 0) + begin;
    T* const y = output<T>(at, 1) + begin;
    const T* const x = input<T>(at, 4) + begin;
    const auto* const bias = input<float>(at, 5);
    const T* const residual = input<T>(at, 6) + begin;
    const auto* const gamma = input<float>(at, 7);
    const auto* const beta = input<float>(at, 8);
    DropRow row;
    if (drop.threshold != 0) {
      row = drop_row(drop, r, input<std::int64_t>(at, 9), input<std::int64_t>(at, 10));
    }
    float z[Team::kSlots];
    float sum = 0;
    each_kept(team, shape.width, drop, row, [&](int slot, int i, Kept kept) {
      Numbers n = shape.load(x, i);
      if (has_bias) {
        const Numbers b = shape.load(bias, i);
        for (int k = 0; k < kPack; ++k) n.v[k] += b.v[k];
      }
      for (int k = 0; k < kPack; ++k) n.v[k] *= factor_of(drop, kept, k);
      if (has_residual) {
        const Numbers s = shape.load(residual, i);
        for (int k = 0; k < kPack; ++k) n.v[k] += s.v[k];
      }
      for (int k = 0; k < kPack; ++k) {
        z[slot + k] = n.v[k];
        sum += n.v[k];
      }
    });
    const auto width = static_cast<float>(shape.width);
    const float mean = team.sum(sum) / width;
    float squares = 0;
    team.each(shape.width, [&](int slot, int i) {
      for (int k = 0; k < shape.count(i); ++k) {
        squares += (z[slot + k] - mean) * (z[slot + k] - mean);
      }
    });
    const float rstd = 1.0F / sqrtf(team.sum(squares) / width + epsilon);
    team.each(shape.width, [&](int slot, int i) {
      const Numbers g = shape.load(gamma, i);
      const Numbers b = shape.load(beta, i);
      Numbers own;
      Numbers normed;
      for (int k = 0; k < kPack; ++k) {
        own.v[k] = z[slot + k];
        normed.v[k] = (z[slot + k] - mean) * rstd * g.v[k] + b.v[k];
      }
      shape.store(kept_z, i, own);
      shape.store(y, i, normed);
    });
    if (team.leads()) {
      output<float>(at, 2)[r] = mean;
      output<float>(at, 3)[r] = rstd;
    }
  }
};

template <class T>
struct AddNormBackwardRow {
  RowShape shape;
  Drop drop;

  template <class Team>
  BP_ON_DEVICE void operator()(std::size_t r, void* const* at, const Team& team) const {
    const std::size_t begin = r * static_cast<std::size_t>(shape.width);
    T* const dz = output<T>(at, 0) + begin;
    T* const dx = output<T>(at, 1) + begin;
    const T* const dy = input<T>(at, 2) + begin;
    const T* const z = input<T>(at, 3) + begin;
    const float mean = input<float>(at, 4)[r];
    const float rstd = input<float>(at, 5)[r];
    const auto* const gamma = input<float>(at, 6);
    float normed[Team::kSlots];
    float scaled[Team::kSlots];
    float sum = 0;
    float dot = 0;
    team.each(shape.width, [&](int slot, int i) {
      const Numbers kept_z = shape.load(z, i);
      const Numbers d = shape.load(dy, i);  // 0 behind the row's end, and so is what it scales
      const Numbers g = shape.load(gamma, i);
      for (int k = 0; k < kPack; ++k) {
        normed[slot + k] = (kept_z.v[k] - mean) * rstd;
        scaled[slot + k] = d.v[k] * g.v[k];
        sum += scaled[slot + k];
        dot += scaled[slot + k] * normed[slot + k];
      }
    });
    const auto width = static_cast<float>(shape.width);
    const float mean_sum = team.sum(sum) / width;
    const float mean_dot = team.sum(dot) / width;
    DropRow row;
    if (drop.threshold != 0) {
      row = drop_row(drop, r, input<std::int64_t>(at, 7), input<std::int64_t>(at, 8));
    }
    each_kept(team, shape.width, drop, row, [&](int slot, int i, Kept kept) {
      Numbers d;
      for (int k = 0; k < kPack; ++k) {
        d.v[k] = (scaled[slot + k] - mean_sum - normed[slot + k] * mean_dot) * rstd;
      }
      shape.store(dz, i, d);
      if (drop.threshold == 0) return;
      for (int k = 0; k < kPack; ++k) d.v[k] *= factor_of(drop, kept, k);
      shape.store(dx, i, d);
    });
  }
};

template <class T>
struct DropRowBody {
  RowShape shape;
  Drop drop;

  template <class Team>
  BP_ON_DEVICE void operator()(std::size_t r, void* const* at, const Team& team) const {
    const std::size_t begin = r * static_cast<std::size_t>(shape.width);
    T* const y = output<T>(at, 0) + begin;
    const T* const x = input<T>(at, 1) + begin;
    const DropRow row = drop_row(drop, r, input<std::int64_t>(at, 2), input<std::int64_t>(at, 3));
    each_kept(team, shape.width, drop, row, [&](int, int i, Kept kept) {
      Numbers n = shape.load(x, i);
      for (int k = 0; k < kPack; ++k) n.v[k] *= factor_of(drop, kept, k);
      shape.store(y, i, n);
    });
  }
};

// Returns how many columns of the row are tokens.
[[nodiscard]] BP_ON_DEVICE inline int valid_columns(std::size_t row,
                                                    int heads,
                                                    int queries,
                                                    const std::int64_t* lengths) {
  const auto r = static_cast<std::uint32_t>(row);
  const auto of_head = static_cast<std::uint32_t>(queries);
  const auto length = static_cast<int>(lengths[r / of_head / static_cast<std::uint32_t>(heads)]);
  return static_cast<int>(r % of_head) < length ? length : 0;
}

template <class T>
struct SoftmaxRow {
  RowShape shape;
  int heads;
  int queries;
  float scale;
  bool drops;
  Drop drop;

  template <class Team>
  BP_ON_DEVICE void operator()(std::size_t r, void* const* at, const Team& team) const {
    const std::size_t begin = r * static_cast<std::size_t>(shape.width);
    T* const p = output<T>(at, 0) + begin;
    T* const dropped = output<T>(at, 1) + begin;
    const T* const scores = input<T>(at, 2) + begin;
    const int valid = valid_columns(r, heads, queries, input<std::int64_t>(at, 3));
    float e[Team::kSlots];
    float highest = -INFINITY;
    team.each(shape.width, [&](int slot, int i) {
      const Numbers s = shape.load(scores, i);
      for (int k = 0; k < kPack; ++k) {
        e[slot + k] = i + k < valid ? s.v[k] * scale : -INFINITY;
        highest = fmaxf(highest, e[slot + k]);
      }
    });
    highest = team.max(highest);
    float sum = 0;
    team.each(shape.width, [&](int slot, int i) {
      for (int k = 0; k < kPack; ++k) {
        e[slot + k] = i + k < valid ? exponential<T>(e[slot + k] - highest) : 0.0F;
        sum += e[slot + k];
      }
    });
    sum = team.sum(sum);
    const float inverse = valid > 0 ? 1.0F / sum : 0.0F;
    DropRow row;
    if (drops) row = drop_row(drop, r, input<std::int64_t>(at, 4), nullptr);
    each_kept(team, shape.width, drop, row, [&](int slot, int i, Kept kept) {
      Numbers n;
      for (int k = 0; k < kPack; ++k) n.v[k] = e[slot + k] * inverse;
      shape.store(p, i, n);
      if (!drops) return;
      for (int k = 0; k < kPack; ++k) n.v[k] *= factor_of(drop, kept, k);
      shape.store(dropped, i, n);
    });
  }
};

template <class T>
struct SoftmaxBackwardRow {
  RowShape shape;
  int heads;
  int queries;
  float scale;

  template <class Team>
  BP_ON_DEVICE void operator()(std::size_t r, void* const* at, const Team& team) const {
    const std::size_t begin = r * static_cast<std::size_t>(shape.width);
    T* const d_scores = output<T>(at, 0) + begin;
    const T* const p = input<T>(at, 1) + begin;
    const T* const dropped = input<T>(at, 2) + begin;
    const T* const d_dropped = input<T>(at, 3) + begin;
    const int valid = valid_columns(r, heads, queries, input<std::int64_t>(at, 4));
    float own[Team::kSlots];
    float sum = 0;
    team.each(shape.width, [&](int slot, int i) {
      const Numbers q = shape.load(dropped, i);
      const Numbers d = shape.load(d_dropped, i);
      for (int k = 0; k < kPack; ++k) {
        own[slot + k] = i + k < valid ? q.v[k] * d.v[k] : 0.0F;
        sum += own[slot + k];
      }
    });
    sum = team.sum(sum);
    team.each(shape.width, [&](int slot, int i) {
      Numbers n = shape.load(p, i);
      for (int k = 0; k < kPack; ++k) {
        n.v[k] = i + k < valid ? (own[slot + k] - n.v[k] * sum) * scale : 0.0F;
      }
      shape.store(d_scores, i, n);
    });
  }
};

}  // namespace bp::trainer::device
