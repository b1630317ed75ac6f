// Attention of one head of one sample in cache: the products of its small matrices, and what lies
// between them. This file is compiled once for each instruction set (arithmetic.h).
#include <cstdint>

#include "trainer/model/kernels/arithmetic.h"
#include "trainer/model/kernels/loops.h"

namespace bp::trainer::kernels::BP_ISA {
namespace {

// A register of the instruction set, and the rows of a result that fit into its registers.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kRows = 8;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
constexpr int kRows = 5;
#else
constexpr int kVectorBytes = 16;
constexpr int kRows = 5;
#endif
constexpr std::int64_t kWidth = kVectorBytes / static_cast<int>(sizeof(float));
using Vector [[gnu::vector_size(kVectorBytes), gnu::aligned(4), gnu::may_alias]] = float;

// Columns are rounded up to a multiple of this, whatever the width of a register is, and the added
// ones are 0.
std::int64_t rounded_up(int columns) {
  return (std::int64_t{columns} + kAttentionLanes - 1) / kAttentionLanes * kAttentionLanes;
}

// Element (i, k) of the left factor of a product is at data[i * row + k * column].
struct Left {
  const float* data;
  std::int64_t row;
  std::int64_t column;
};

// c[i, j] = or += the sum over k < depth of a(i, k) * b[k, j], for i < rows and the columns of
// `columns` registers. Rows of b and of c are `row` numbers apart.
template <int rows, int columns>
void tile(const Left& a, const float* b, float* c, std::int64_t row, int depth, bool adds) {
  Vector sums[rows][columns];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < columns; ++j) {
      sums[i][j] = adds ? *reinterpret_cast<const Vector*>(c + i * row + j * kWidth) : Vector{};
    }
  }
  for (int k = 0; k < depth; ++k) {
    Vector right[columns];
#pragma GCC unroll 2
    for (int j = 0; j < columns; ++j) {
      right[j] = *reinterpret_cast<const Vector*>(b + k * row + j * kWidth);
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const float left = a.data[i * a.row + k * a.column];
#pragma GCC unroll 2
      for (int j = 0; j < columns; ++j) sums[i][j] += left * right[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < columns; ++j) {
      *reinterpret_cast<Vector*>(c + i * row + j * kWidth) = sums[i][j];
    }
  }
}

// The same for the last rows of a matrix, which are fewer than kRows.
template <int rows, int columns>
void last_tile(
    int left, const Left& a, const float* b, float* c, std::int64_t row, int depth, bool adds) {
  if constexpr (rows > 0) {
    if (left == rows) return tile<rows, columns>(a, b, c, row, depth, adds);
    last_tile<rows - 1, columns>(left, a, b, c, row, depth, adds);
  }
}

template <int columns>
void column_of_tiles(
    int rows, const Left& a, const float* b, float* c, std::int64_t row, int depth, bool adds) {
  int i = 0;
  for (; i + kRows <= rows; i += kRows) {
    tile<kRows, columns>({a.data + i * a.row, a.row, a.column}, b, c + i * row, row, depth, adds);
  }
  last_tile<kRows - 1, columns>(rows - i, {a.data + i * a.row, a.row, a.column}, b, c + i * row,
                                row, depth, adds);
}

// How many columns matrices have, a multiple of kAttentionLanes, and how far apart their rows are.
struct Columns {
  std::int64_t count;
  std::int64_t row;
};

// C = or += A B, with C [rows, columns] and B [depth, columns].
void product(int rows,
             const Columns& columns,
             int depth,
             const Left& a,
             const float* b,
             float* c,
             bool adds) {
  std::int64_t j = 0;
  for (; j + 2 * kWidth <= columns.count; j += 2 * kWidth) {
    column_of_tiles<2>(rows, a, b + j, c + j, columns.row, depth, adds);
  }
  if (j < columns.count) {
    column_of_tiles<1>(rows, a, b + j, c + j, columns.row, depth, adds);
  }
}

// The keys from `begin` to `end`.
struct Keys {
  int begin;
  int end;
  [[nodiscard]] int count() const { return end - begin; }
};

// Returns the keys that one of the queries from `begin` to `end` sees.
template <class Head>
Keys keys_of(const Head& h, int begin, int end) {
  const Window& w = h.window;
  return {begin > w.before ? begin - w.before : 0,
          end < h.tokens - w.after ? end + w.after : h.tokens};
}

// The same for a product, whose columns begin at a multiple of kAttentionLanes.
template <class Head>
Keys keys_of_block(const Head& h, int begin, int end) {
  const Keys keys = keys_of(h, begin, end);
  return {keys.begin / kAttentionLanes * kAttentionLanes, keys.end};
}

// Sets the numbers of `all` that are not in `own` to 0.
void clear_others(float* row, const Keys& all, const Keys& own) {
  for (int i = all.begin; i < own.begin; ++i) row[i] = 0;
  for (int i = own.end; i < all.end; ++i) row[i] = 0;
}

// Copies rows of `size` numbers, plus the bias unless that is null, to rows of `width` floats.
template <class Number>
void copy_rows(float* to,
               std::int64_t width,
               const Number* from,
               std::int64_t stride,
               const float* bias,
               int rows,
               int size) {
  for (int row = 0; row < rows; ++row, to += width, from += stride) {
    if (bias != nullptr) {
      for (int i = 0; i < size; ++i) to[i] = load(from[i]) + bias[i];
    } else {
      for (int i = 0; i < size; ++i) to[i] = load(from[i]);
    }
    for (std::int64_t i = size; i < width; ++i) to[i] = 0;
  }
}

// The same, transposed: row i of `to` has the ith number of each row.
template <class Number>
void copy_columns(float* to,
                  std::int64_t width,
                  const Number* from,
                  std::int64_t stride,
                  const float* bias,
                  int rows,
                  int size) {
  for (int i = 0; i < size; ++i) {
    const float add = bias[i];
    float* __restrict row = to + i * width;
    for (int r = 0; r < rows; ++r) row[r] = load(from[r * stride + i]) + add;
    for (std::int64_t r = rows; r < width; ++r) row[r] = 0;
  }
}

template <class Number>
void store_rows(
    Number* to, std::int64_t stride, const float* from, std::int64_t width, int rows, int size) {
  for (int row = 0; row < rows; ++row, to += stride, from += width) {
    for (int i = 0; i < size; ++i) store(to[i], from[i]);
  }
}

// Makes probabilities of the scores of one query. Returns them in `p`, and in `scores` after
// dropout.
void softmax_row(
    float* scores, float* p, const Keys& keys, float scale, const DropoutRow* dropout) {
  probabilities(scores + keys.begin, keys.count(), scale);
  for (int i = keys.begin; i < keys.end; ++i) p[i] = scores[i];
  if (dropout == nullptr) return;
  float factor[kMaxRow];
  dropout_factors(factor, keys.end, *dropout);
  for (int i = keys.begin; i < keys.end; ++i) scores[i] *= factor[i];
}

// Scales the scores of a query, and adds the numbers of distances.
void add_relative(float* scores,
                  const Distances<const float>& relative,
                  std::int64_t query,
                  const Keys& keys,
                  float scale) {
  const std::int64_t next = relative.row - 1;
  const float* const of_query = relative.of_query + query * next;
  for (int j = keys.begin; j < keys.end; ++j) scores[j] = scale * scores[j] + of_query[j];
  if (relative.of_key == nullptr) return;
  const float* const of_key = relative.of_key + query;
  for (int j = keys.begin; j < keys.end; ++j) scores[j] += of_key[j * next];
}

// Adds the gradients `d` of a query's scores to those of the numbers of distances.
void add_to_relative(const Distances<float>& sum,
                     std::int64_t query,
                     const float* d,
                     const Keys& keys,
                     float scale) {
  const std::int64_t next = sum.row - 1;
  float* const of_query = sum.of_query + query * next;
  for (int j = keys.begin; j < keys.end; ++j) of_query[j] += d[j] / scale;
  if (sum.of_key == nullptr) return;
  float* const of_key = sum.of_key + query;
  for (int j = keys.begin; j < keys.end; ++j) of_key[j * next] += d[j] / scale;
}

template <class Number>
void attend_head(const typename Kernels<Number>::HeadOfSample& h,
                 const typename Kernels<Number>::Attended& to,
                 float* scratch) {
  const std::int64_t keys = rounded_up(h.tokens);
  const std::int64_t size = rounded_up(h.size);
  float* const k = scratch;              // transposed, [size, keys]
  float* const v = k + size * keys;      // [tokens, size]
  float* const q = v + h.tokens * size;  // of a block, [kAttentionQueries, size]
  float* const y = q + kAttentionQueries * size;
  float* const s = y + kAttentionQueries * size;  // [kAttentionQueries, keys]
  float p[kMaxRow];
  copy_columns(k, keys, h.k, h.stride, h.k_bias, h.tokens, h.size);
  copy_rows(v, size, h.v, h.stride, h.v_bias, h.tokens, h.size);
  for (int begin = 0; begin < h.queries; begin += kAttentionQueries) {
    const int queries =
        h.queries - begin < kAttentionQueries ? h.queries - begin : kAttentionQueries;
    copy_rows(q, size, h.q + begin * h.stride, h.stride, h.q_bias, queries, h.size);
    const Keys near = keys_of_block(h, begin, begin + queries);
    product(queries, {rounded_up(near.count()), keys}, h.size, {q, size, 1}, k + near.begin,
            s + near.begin, false);
    for (int i = 0; i < queries; ++i) {
      DropoutRow dropout;
      if (to.dropout != nullptr) {
        dropout = *to.dropout;
        dropout.row += static_cast<std::uint32_t>(begin + i);
      }
      const std::int64_t at = std::int64_t{begin + i} * h.tokens;
      float* const row = s + i * keys;
      const Keys own = keys_of(h, begin + i, begin + i + 1);
      clear_others(row, near, own);
      clear_others(p, near, own);
      const bool relative = h.relative.of_query != nullptr;
      if (relative) add_relative(row, h.relative, begin + i, own, h.scale);
      softmax_row(row, p, own, relative ? 1.0F : h.scale,
                  to.dropout == nullptr ? nullptr : &dropout);
      for (int j = near.begin; j < near.end; ++j) store(to.p[at + j], p[j]);
      if (to.dropout == nullptr) continue;
      for (int j = near.begin; j < near.end; ++j) store(to.dropped[at + j], row[j]);
    }
    product(queries, {size, size}, near.count(), {s + near.begin, keys, 1}, v + near.begin * size,
            y, false);
    store_rows(to.y + begin * to.y_stride, to.y_stride, y, size, queries, h.size);
  }
}

template <class Number>
void attend_head_backward(const typename Kernels<Number>::HeadOfSample& h,
                          const typename Kernels<Number>::AttendedGradients& given,
                          float* scratch) {
  const std::int64_t keys = rounded_up(h.tokens);
  const std::int64_t size = rounded_up(h.size);
  float* const k = scratch;              // [tokens, size]
  float* const v = k + h.tokens * size;  // transposed, [size, keys]
  float* const dk = v + size * keys;     // [tokens, size]
  float* const dv = dk + h.tokens * size;
  float* const q = dv + h.tokens * size;  // of a block, [kAttentionQueries, size]
  float* const dy = q + kAttentionQueries * size;
  float* const dq = dy + kAttentionQueries * size;
  float* const dropped = dq + kAttentionQueries * size;  // [kAttentionQueries, keys]
  float* const ds = dropped + kAttentionQueries * keys;
  copy_rows(k, size, h.k, h.stride, h.k_bias, h.tokens, h.size);
  copy_columns(v, keys, h.v, h.stride, h.v_bias, h.tokens, h.size);
  // Else the first block sets all sums over queries.
  const bool is_local = h.window.hides(h.tokens);
  for (std::int64_t i = 0; is_local && i < 2 * h.tokens * size; ++i) dk[i] = 0;  // and dv
  for (int begin = 0; begin < h.queries; begin += kAttentionQueries) {
    const int queries =
        h.queries - begin < kAttentionQueries ? h.queries - begin : kAttentionQueries;
    copy_rows(q, size, h.q + begin * h.stride, h.stride, h.q_bias, queries, h.size);
    copy_rows(dy, size, given.dy + begin * given.y_stride, given.y_stride, nullptr, queries,
              h.size);
    const Keys near = keys_of_block(h, begin, begin + queries);
    const std::int64_t scores = std::int64_t{begin} * h.tokens + near.begin;
    for (int i = 0; i < queries; ++i) {
      float* __restrict row = dropped + i * keys + near.begin;
      const Number* from = given.dropped + scores + std::int64_t{i} * h.tokens;
      for (int j = 0; j < near.count(); ++j) row[j] = load(from[j]);
    }
    product(queries, {rounded_up(near.count()), keys}, h.size, {dy, size, 1}, v + near.begin,
            ds + near.begin, false);
    for (int i = 0; i < queries; ++i) {
      // The gradient of p is that of `dropped` times the factor of dropout, and p times that factor
      // is `dropped`.
      float* __restrict d = ds + i * keys + near.begin;
      const float* __restrict kept = dropped + i * keys + near.begin;
      const Number* const p = given.p + scores + std::int64_t{i} * h.tokens;
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int j = 0; j < near.count(); ++j) {
        d[j] *= kept[j];
        sum += d[j];
      }
      for (int j = 0; j < near.count(); ++j) d[j] = h.scale * (d[j] - load(p[j]) * sum);
      if (given.relative_sum.of_query == nullptr) continue;
      add_to_relative(given.relative_sum, begin + i, ds + i * keys, near, h.scale);
    }
    product(queries, {size, size}, near.count(), {ds + near.begin, keys, 1}, k + near.begin * size,
            dq, false);
    store_rows(given.dq + begin * h.stride, h.stride, dq, size, queries, h.size);
    const bool adds = is_local || begin > 0;
    product(near.count(), {size, size}, queries, {ds + near.begin, 1, keys}, q,
            dk + near.begin * size, adds);
    product(near.count(), {size, size}, queries, {dropped + near.begin, 1, keys}, dy,
            dv + near.begin * size, adds);
  }
  store_rows(given.dk, h.stride, dk, size, h.tokens, h.size);
  store_rows(given.dv, h.stride, dv, size, h.tokens, h.size);
  for (int token = h.queries; token < h.tokens; ++token) {
    for (int i = 0; i < h.size; ++i) store(given.dq[token * h.stride + i], 0.0F);
  }
}

}  // namespace

#define BP_DEFINE_ATTENTION(Number)                                                           \
  void attend(const Kernels<Number>::HeadOfSample& head, const Kernels<Number>::Attended& to, \
              float* scratch) {                                                               \
    attend_head<Number>(head, to, scratch);                                                   \
  }                                                                                           \
  void attend_backward(const Kernels<Number>::HeadOfSample& head,                             \
                       const Kernels<Number>::AttendedGradients& d, float* scratch) {         \
    attend_head_backward<Number>(head, d, scratch);                                           \
  }

BP_DEFINE_ATTENTION(float)
BP_DEFINE_ATTENTION(BFloat16)
BP_DEFINE_ATTENTION(Float16)

}  // namespace bp::trainer::kernels::BP_ISA
