// Checks attention of one head against its formulas in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/text.h"
#include "tests/unit/kernel_cases.h"
#include "trainer/model/kernels/kernels.h"

namespace bp::trainer::kernels {
namespace {

struct Shape {
  int tokens;
  int queries;
  int size;
  Window window = {};
  [[nodiscard]] bool sees(std::size_t query, std::size_t key) const {
    return key + static_cast<std::size_t>(window.before) >= query &&
           key <= query + static_cast<std::size_t>(window.after);
  }
};

Window within(int reach) { return {.before = reach, .after = reach}; }

using Matrix = std::vector<std::vector<double>>;

Matrix matrix(int rows, int columns) {
  return Matrix(static_cast<std::size_t>(rows),
                std::vector<double>(static_cast<std::size_t>(columns)));
}

// a b, or a b^T
Matrix product(const Matrix& a, const Matrix& b, bool transposed) {
  Matrix c =
      matrix(static_cast<int>(a.size()), static_cast<int>(transposed ? b.size() : b[0].size()));
  for (std::size_t i = 0; i < c.size(); ++i) {
    for (std::size_t j = 0; j < c[i].size(); ++j) {
      for (std::size_t k = 0; k < a[i].size(); ++k)
        c[i][j] += a[i][k] * (transposed ? b[j][k] : b[k][j]);
    }
  }
  return c;
}

Matrix transpose(const Matrix& a) {
  Matrix t = matrix(static_cast<int>(a[0].size()), static_cast<int>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[i].size(); ++j) t[j][i] = a[i][j];
  }
  return t;
}

// A head of a sample, between other numbers as in a row of queries, keys and values.
template <class Number>
struct Head {
  explicit Head(const Shape& shape) : s(shape), stride(3 * shape.size + 5) {
    q = numbers<Number>(shape.tokens * stride, 1);
    dy = numbers<Number>(shape.queries * y_stride(), 2);
    bias = numbers<float>(3 * shape.size, 3);
    drop.key[0] = 77;
    drop.row = 3U << 16;
    drop.threshold = 16384;
    drop.scale = 4.0F / 3;
  }
  [[nodiscard]] int y_stride() const { return s.size + 3; }
  // Queries, keys or values, with their bias.
  [[nodiscard]] Matrix part(int which, int rows) const {
    Matrix m = matrix(rows, s.size);
    for (int t = 0; t < rows; ++t) {
      for (int i = 0; i < s.size; ++i) {
        const int at = which * s.size + i;
        m[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)] =
            value(q[static_cast<std::size_t>(t * stride + at)]) +
            bias[static_cast<std::size_t>(at)];
      }
    }
    return m;
  }
  [[nodiscard]] Matrix gradient_of_y() const {
    Matrix m = matrix(s.queries, s.size);
    for (int t = 0; t < s.queries; ++t) {
      for (int i = 0; i < s.size; ++i) {
        m[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)] =
            value(dy[static_cast<std::size_t>(t * y_stride() + i)]);
      }
    }
    return m;
  }
  // 0, or what dropout multiplies a probability by.
  [[nodiscard]] double factor(std::size_t query, std::size_t key) const {
    DropoutRow row = drop;
    row.row += static_cast<std::uint32_t>(query);
    std::uint16_t random[128];
    random_block(random, static_cast<std::uint32_t>(key / 128), row);
    return random[key % 128] < row.threshold ? 0 : row.scale;
  }

  Shape s;
  int stride;
  std::vector<Number> q;
  std::vector<Number> dy;
  std::vector<float> bias;
  DropoutRow drop = {};
};

template <class Number>
Matrix as_matrix(const std::vector<Number>& x, int rows, int columns) {
  Matrix m = matrix(rows, columns);
  for (std::size_t i = 0; i < x.size(); ++i) m[i / m[0].size()][i % m[0].size()] = value(x[i]);
  return m;
}

template <class Case>
class AttentionKernel : public Kernel<Case> {
 protected:
  using Number = typename Case::Number;
  static constexpr double kScale = 0.0625;

  // Compares `wanted` with the matrix at `found`, whose rows begin `stride` apart.
  static void expect_near(const Number* found, int stride, const Matrix& wanted, double size) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      for (std::size_t j = 0; j < wanted[i].size(); ++j) {
        const double right = wanted[i][j];
        ASSERT_NEAR(value(found[i * static_cast<std::size_t>(stride) + j]), right,
                    Kernel<Case>::tolerance(right, size))
            << i << ' ' << j;
      }
    }
  }

  static auto of_sample(const Head<Number>& head) {
    typename Kernels<Number>::HeadOfSample h;
    h.q = head.q.data();
    h.k = h.q + head.s.size;
    h.v = h.k + head.s.size;
    h.stride = head.stride;
    h.q_bias = head.bias.data();
    h.k_bias = h.q_bias + head.s.size;
    h.v_bias = h.k_bias + head.s.size;
    h.tokens = head.s.tokens;
    h.queries = head.s.queries;
    h.size = head.s.size;
    h.scale = kScale;
    h.window = head.s.window;
    return h;
  }

  // Sets y and what is kept for the backward pass.
  void attend(const Head<Number>& head, bool drops) {
    const Shape& s = head.s;
    const auto scores = static_cast<std::size_t>(s.queries * s.tokens);
    p_.assign(scores, Number{});
    dropped_.assign(drops ? scores : 0, Number{});
    y_.assign(head.dy.size(), number<Number>(1));
    typename Kernels<Number>::Attended to;
    to.y = y_.data();
    to.y_stride = head.y_stride();
    to.p = p_.data();
    to.dropped = drops ? dropped_.data() : nullptr;
    to.dropout = drops ? &head.drop : nullptr;
    this->table().attend(of_sample(head), to, scratch_for(s));
    if (!drops) dropped_ = p_;
    EXPECT_EQ(scratch_.back(), kUntouched) << "beyond the scratch memory";
  }

  void attend_backward(const Head<Number>& head) {
    const Shape& s = head.s;
    d_.assign(head.q.size(), number<Number>(1));
    typename Kernels<Number>::AttendedGradients d;
    d.dy = head.dy.data();
    d.y_stride = head.y_stride();
    d.p = p_.data();
    d.dropped = dropped_.data();
    d.dq = d_.data();
    d.dk = d.dq + s.size;
    d.dv = d.dk + s.size;
    this->table().attend_backward(of_sample(head), d, scratch_for(s));
    EXPECT_EQ(scratch_.back(), kUntouched) << "beyond the scratch memory";
  }

  void expect_forward(const Head<Number>& head, bool drops) {
    const Shape& s = head.s;
    Matrix p = product(head.part(0, s.queries), head.part(1, s.tokens), true);
    Matrix dropped = p;
    for (std::size_t i = 0; i < p.size(); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < p[i].size(); ++j) {
        sum += p[i][j] = s.sees(i, j) ? std::exp(kScale * p[i][j]) : 0;
      }
      for (std::size_t j = 0; j < p[i].size(); ++j) {
        p[i][j] /= sum;
        dropped[i][j] = p[i][j] * (drops ? head.factor(i, j) : 1);
      }
    }
    expect_near(p_.data(), s.tokens, p, 1);
    expect_near(dropped_.data(), s.tokens, dropped, 1);
    expect_near(y_.data(), head.y_stride(), product(dropped, head.part(2, s.tokens), false), 16);
    for (std::size_t i = 0; i < y_.size(); ++i) {
      const bool is_own =
          i % static_cast<std::size_t>(head.y_stride()) < static_cast<std::size_t>(s.size);
      if (!is_own) {
        ASSERT_EQ(value(y_[i]), 1.0F) << "another head's " << i;
      }
    }
  }

  // The gradients of what was kept, so that its rounding does not matter here.
  void expect_backward(const Head<Number>& head) {
    const Shape& s = head.s;
    const Matrix p = as_matrix(p_, s.queries, s.tokens);
    const Matrix dropped = as_matrix(dropped_, s.queries, s.tokens);
    const Matrix dy = head.gradient_of_y();
    Matrix ds = product(dy, head.part(2, s.tokens), true);
    for (std::size_t i = 0; i < ds.size(); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < ds[i].size(); ++j) sum += ds[i][j] *= dropped[i][j];
      for (std::size_t j = 0; j < ds[i].size(); ++j) ds[i][j] = kScale * (ds[i][j] - p[i][j] * sum);
    }
    Matrix dq = product(ds, head.part(1, s.tokens), false);
    dq.resize(static_cast<std::size_t>(s.tokens),
              std::vector<double>(static_cast<std::size_t>(s.size)));
    expect_near(d_.data(), head.stride, dq, 64);
    expect_near(d_.data() + s.size, head.stride,
                product(transpose(ds), head.part(0, s.queries), false), 64);
    expect_near(d_.data() + 2 * s.size, head.stride, product(transpose(dropped), dy, false), 64);
    for (int t = 0; t < s.tokens; ++t) {
      for (int i = 3 * s.size; i < head.stride; ++i) {
        ASSERT_EQ(value(d_[static_cast<std::size_t>(t * head.stride + i)]), 1.0F)
            << "another head's";
      }
    }
  }

 private:
  static constexpr float kUntouched = -7;
  float* scratch_for(const Shape& s) {
    scratch_.assign(attention_scratch(s.tokens, s.size) + 1, kUntouched);
    return scratch_.data();
  }

  std::vector<Number> p_;
  std::vector<Number> dropped_;
  std::vector<Number> y_;
  std::vector<Number> d_;
  std::vector<float> scratch_;
};

TYPED_TEST_SUITE(AttentionKernel, Cases, CaseName);

TYPED_TEST(AttentionKernel, ComputesTheFormulasAndTheirDerivatives) {
  for (const Shape& s :
       {Shape{1, 1, 4}, Shape{13, 13, 32}, Shape{37, 37, 20}, Shape{150, 150, 8}, Shape{41, 1, 64},
        Shape{150, 150, 8, within(20)}, Shape{77, 77, 16, within(0)}, Shape{90, 90, 20, within(70)},
        Shape{100, 1, 12, within(40)}, Shape{9, 9, 8, within(9)}, Shape{70, 70, 8, {.before = 0}},
        Shape{70, 70, 8, {.after = 0}}, Shape{90, 90, 12, {.before = 40, .after = 3}}}) {
    for (const bool drops : {false, true}) {
      SCOPED_TRACE(concat(s.tokens, " tokens, ", s.queries, " queries, size ", s.size, ", window ",
                          s.window.before, " and ", s.window.after, drops ? ", dropout" : ""));
      const Head<typename TypeParam::Number> head(s);
      this->attend(head, drops);
      this->expect_forward(head, drops);
      this->attend_backward(head);
      this->expect_backward(head);
    }
  }
}

}  // namespace
}  // namespace bp::trainer::kernels
