// Checks every type, every reduction, every length up to a few vectors and any alignment, bit for
// bit against the scalar rules of tests/unit/reduce_oracle.h.
#include "comm/reduce/reduce.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iostream>
#include <random>
#include <string>

#include "comm/reduce/copy.h"
#include "tests/support/types.h"
#include "tests/unit/reduce_oracle.h"
#include "tests/unit/simd_target.h"

namespace bp {
namespace {

constexpr std::byte kGuard{0xa5};
constexpr std::size_t kLongest = 67;

template <class T>
std::vector<T> special_values() {
  if constexpr (std::is_same_v<T, Float16>) {
    return {Float16{0},      Float16{0x8000}, Float16{0x0001}, Float16{0x83ff},
            Float16{0x3c00}, Float16{0x7bff}, Float16{0xfbff}, Float16{0x7c00},
            Float16{0xfc00}, Float16{0x7e01}, Float16{0x7c01}};
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return {BFloat16{0},      BFloat16{0x8000}, BFloat16{0x0001}, BFloat16{0x807f},
            BFloat16{0x3f80}, BFloat16{0x7f7f}, BFloat16{0xff7f}, BFloat16{0x7f80},
            BFloat16{0xff80}, BFloat16{0x7fc1}, BFloat16{0x7f81}};
  } else if constexpr (oracle::kIsBool<T>) {
    return {{false}, {true}};
  } else if constexpr (oracle::kIsComplex<T>) {
    std::vector<T> values;
    for (const float real : special_values<float>()) {
      for (const float imaginary : special_values<float>()) values.emplace_back(real, imaginary);
    }
    return values;
  } else {
    using Limits = std::numeric_limits<T>;
    std::vector<T> values = {T{0}, T{1}, Limits::max(), Limits::lowest(), Limits::min()};
    if constexpr (std::is_floating_point_v<T>) {
      values.insert(values.end(), {T{-0.0}, Limits::infinity(), -Limits::infinity(),
                                   Limits::denorm_min(), Limits::quiet_NaN()});
    }
    return values;
  }
}

// Random bits mix signs, exponents and NaNs best. Every third element is a special value.
template <class T>
std::vector<T> values(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  const std::vector<T> specials = special_values<T>();
  std::vector<T> result(count);
  for (T& value : result) {
    const std::uint64_t bits = random();
    if constexpr (oracle::kIsBool<T>) {
      value = {bits % 2 != 0};
    } else {
      std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
    }
    if (bits % 3 == 0) value = specials[random() % specials.size()];
  }
  return result;
}

// `count` elements at an address that is `shift` bytes unaligned, between guards.
template <class T>
class Shifted {
 public:
  Shifted(const std::vector<T>& elements, std::size_t shift)
      : shift_(shift), count_(elements.size()), bytes_(count_ * sizeof(T) + 2 * kSpace, kGuard) {
    if (count_ > 0) std::memcpy(data(), elements.data(), count_ * sizeof(T));
  }
  std::byte* data() { return bytes_.data() + kSpace / 2 + shift_; }
  T operator[](std::size_t i) {
    T value;
    std::memcpy(&value, data() + i * sizeof(T), sizeof(T));
    return value;
  }
  bool guards_intact() {
    const auto end = static_cast<std::size_t>(data() - bytes_.data()) + count_ * sizeof(T);
    const auto is_guard = [](std::byte b) { return b == kGuard; };
    return std::all_of(bytes_.begin(), bytes_.begin() + (data() - bytes_.data()), is_guard) &&
           std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(end), bytes_.end(), is_guard);
  }

 private:
  static constexpr std::size_t kSpace = 64;
  std::size_t shift_;
  std::size_t count_;
  std::vector<std::byte> bytes_;
};

// Returns whether the bits are equal. If reduce.h leaves the NaN open, any quiet NaN is accepted.
template <class T>
bool same(ReduceOp op, T got, T wanted) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool chosen = op == ReduceOp::min || op == ReduceOp::max;
    if (std::isnan(wanted) && !chosen) return std::isnan(got);
    if (std::isnan(wanted)) wanted = std::numeric_limits<T>::quiet_NaN();
  }
  if constexpr (oracle::kIsComplex<T>) {
    return same(op, got.real(), wanted.real()) && same(op, got.imag(), wanted.imag());
  }
  return std::memcmp(&got, &wanted, sizeof(T)) == 0;
}

template <class T>
void check_reduce(ReduceOp op, std::size_t count, std::size_t shift) {
  const std::vector<T> a = values<T>(count, static_cast<unsigned>(count) + 1);
  const std::vector<T> b = values<T>(count, static_cast<unsigned>(count) + 1000);
  const DataType type = kDataTypeOf<T>;
  Shifted<T> out(std::vector<T>(count), shift);
  Shifted<T> left(a, (shift * 2) % 9);
  Shifted<T> right(b, (shift * 3) % 11);
  reduce_to(type, op, out.data(), left.data(), right.data(), count);
  Shifted<T> into(a, shift);
  reduce(type, op, into.data(), right.data(), count);
  Shifted<T> from(b, shift);
  reduce_to(type, op, from.data(), left.data(), from.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const T wanted = oracle::reduce(op, a[i], b[i]);
    ASSERT_TRUE(same(op, out[i], wanted)) << name_of(type) << ' ' << name_of(op) << " element " << i
                                          << " of " << count << ", shift " << shift;
    ASSERT_TRUE(same(op, into[i], wanted));
    ASSERT_TRUE(same(op, from[i], wanted));
  }
  ASSERT_TRUE(out.guards_intact() && into.guards_intact() && from.guards_intact());
}

template <class T>
void check_all() {
  for (const ReduceOp op : kReduceOps) {
    if (!can_reduce(op, kDataTypeOf<T>)) continue;
    for (std::size_t count = 0; count <= kLongest; ++count) {
      for (const std::size_t shift : {0U, 1U, 4U, 7U}) check_reduce<T>(op, count, shift);
    }
    check_reduce<T>(op, 5000, 3);
  }
}

// A target that Highway does not find is not tested. AVX3 is Highway's name for AVX-512.
TEST(SimdTargets, AreAllThatThisProcessorHas) {
  std::string run;
  for (const std::int64_t target : simd_targets()) {
    run += std::string(" ") + hwy::TargetName(target);
  }
  std::string left;
  for (std::int64_t rest = HWY_TARGETS & ~hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    left += std::string(" ") + hwy::TargetName(rest & ~(rest - 1));
  }
  std::cout << "run:" << run << "; not run, since this processor lacks them:" << left << "\n";
  EXPECT_FALSE(run.empty());
#if defined(__x86_64__)
  EXPECT_EQ(run.find(" AVX2") != std::string::npos, __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(run.find(" AVX3") != std::string::npos,
            __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"));
#endif
}

class Reduce : public SimdTest {};
INSTANTIATE_TEST_SUITE_P(Machines, Reduce, testing::ValuesIn(simd_targets()), simd_name);

// One test for each element type: Reduce.u8, Reduce.f32, ...
#define BP_ROW(name, text, number, Element, type_class) \
  TEST_P(Reduce, name) { check_all<test::Stored<Element>>(); }
BP_DATA_TYPES(BP_ROW)
#undef BP_ROW

struct PartsCase {
  std::size_t count = 0;
  std::size_t ranks = 0;    // the number of parts
  std::size_t outputs = 0;  // the first ones of the parts and of one more buffer
};

template <class T>
void check_parts(ReduceOp op, const PartsCase& of) {
  const auto [count, ranks, outputs] = of;
  std::vector<std::vector<T>> given;
  std::vector<Shifted<T>> arrays;
  std::vector<const std::byte*> parts;
  std::vector<std::byte*> outs;
  for (std::size_t rank = 0; rank <= ranks; ++rank) {
    given.push_back(values<T>(count, static_cast<unsigned>(100 * rank + count)));
    arrays.emplace_back(given.back(), (rank * 5 + 1) % 9);
  }
  for (Shifted<T>& array : arrays) outs.push_back(array.data());
  parts.assign(outs.begin(), outs.begin() + static_cast<std::ptrdiff_t>(ranks));
  outs.resize(outputs);
  if (op == ReduceOp::average) {
    average_parts(kDataTypeOf<T>, outs, parts, count);
  } else {
    reduce_parts(kDataTypeOf<T>, op, outs, parts, count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<T> elements(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) elements[rank] = given[rank][i];
    const T wanted = oracle::reduce_parts(op, elements);
    for (std::size_t k = 0; k < outputs; ++k) {
      ASSERT_TRUE(same(op, arrays[k][i], wanted))
          << name_of(kDataTypeOf<T>) << ' ' << name_of(op) << ' ' << i << " of " << count << ", "
          << ranks << " parts, output " << k << " of " << outputs;
    }
  }
  for (std::size_t k = outputs; k < arrays.size(); ++k) {
    ASSERT_TRUE(count == 0 ||
                std::memcmp(arrays[k].data(), given[k].data(), count * sizeof(T)) == 0);
  }
  for (Shifted<T>& array : arrays) ASSERT_TRUE(array.guards_intact());
}

template <class T>
void check_all_parts() {
  for (const ReduceOp op : kReduceOps) {
    if (!can_reduce(op, kDataTypeOf<T>)) continue;
    for (const std::size_t ranks : {2U, 3U, 4U, 8U}) {
      for (const std::size_t count : {0U, 1U, 7U, 64U, 67U, 1031U}) {
        check_parts<T>(op, {count, ranks, ranks + 1});
        check_parts<T>(op, {count, ranks, 1});
        check_parts<T>(op, {count, ranks, 2});
      }
    }
  }
}

// docs/acceptance.md, Precision: Any address and any length work.
TEST_P(Reduce, AnyNumberOfParts) {
  test::for_each_type([]<class T>(std::type_identity<T>) { check_all_parts<T>(); });
}

// 256 + 1 + 1 in bf16 stays 256 if each step is rounded.
// docs/acceptance.md, Precision: Sums of halves are computed in f32 and rounded once.
TEST_P(Reduce, HalvesAreRoundedOnceForAllParts) {
  const BFloat16 big = to_bfloat16(256.0F);
  const BFloat16 one = to_bfloat16(1.0F);
  BFloat16 out{0};
  const auto bytes_of = [](const BFloat16& half) {
    return reinterpret_cast<const std::byte*>(&half);
  };
  const std::array parts = {bytes_of(big), bytes_of(one), bytes_of(one)};
  reduce_parts(DataType::bf16, ReduceOp::sum, std::array{reinterpret_cast<std::byte*>(&out)}, parts,
               1);
  EXPECT_EQ(to_float(out), 258.0F);
}

// Checks all pairs of bytes, because byte products are computed from 16-bit ones.
// docs/acceptance.md, Precision: Integers that overflow wrap.
TEST_P(Reduce, AllPairsOfBytes) {
  std::vector<std::uint8_t> a(65536);
  std::vector<std::uint8_t> b(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<std::uint8_t>(i);
    b[i] = static_cast<std::uint8_t>(i >> 8);
  }
  for (const ReduceOp op : kReduceOps) {
    std::vector<std::uint8_t> out(a.size());
    reduce_to(DataType::u8, op, view(out).data, const_view(a).data, const_view(b).data, a.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(out[i], oracle::reduce(op, a[i], b[i]));
    reduce_to(DataType::i8, op, view(out).data, const_view(a).data, const_view(b).data, a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto wanted =
          oracle::reduce(op, static_cast<std::int8_t>(a[i]), static_cast<std::int8_t>(b[i]));
      ASSERT_EQ(out[i], static_cast<std::uint8_t>(wanted));
    }
  }
}

// Truncation instead of rounding would lose every addend below half a step.
TEST_P(Reduce, HalvesAreRoundedToNearestEven) {
  const std::vector<BFloat16> one = {BFloat16{0x3f80}, BFloat16{0x3f81}};
  const std::vector<BFloat16> half_step = {to_bfloat16(0x1p-8F), to_bfloat16(0x1p-8F)};
  std::vector<BFloat16> out(2);
  reduce_to(DataType::bf16, ReduceOp::sum, view(out).data, const_view(one).data,
            const_view(half_step).data, 2);
  EXPECT_EQ(out[0], BFloat16{0x3f80});  // a tie, rounded down to even
  EXPECT_EQ(out[1], BFloat16{0x3f82});  // a tie, rounded up to even
}

TEST_P(Reduce, CopiesStayWithinTheirBounds) {
  for (const auto copy : {copy_bytes, stream}) {
    for (const std::size_t count : {0U, 1U, 63U, 64U, 65U, 200U, 2048U, 2049U, 4096U, 70'001U}) {
      const std::vector<std::uint8_t> from = values<std::uint8_t>(count + 1, 9);
      for (const std::size_t shift : {0U, 1U, 31U, 32U, 63U, 64U}) {
        Shifted<std::uint8_t> to(std::vector<std::uint8_t>(count), shift);
        copy(to.data(), const_view(from).data + 1, count);
        finish_streams();
        EXPECT_EQ(std::memcmp(to.data(), from.data() + 1, count), 0) << count << " at " << shift;
        EXPECT_TRUE(to.guards_intact()) << count << " at " << shift;
      }
    }
  }
}

template <class T>
void check_average(int ranks) {
  const std::vector<T> sums = values<T>(kLongest, 5);
  Shifted<T> data(sums, 3);
  finish_average(kDataTypeOf<T>, data.data(), sums.size(), ranks);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const T wanted = ranks == 1 ? sums[i] : oracle::divide(sums[i], ranks);
    ASSERT_TRUE(same(ReduceOp::average, data[i], wanted)) << i << " over " << ranks;
  }
  ASSERT_TRUE(data.guards_intact());
}

TEST_P(Reduce, AverageDividesAndIntegersAreTruncatedTowardsZero) {
  for (const int ranks : {1, 2, 3, 7, 64}) {
    test::for_each_type([ranks]<class T>(std::type_identity<T>) {
      if constexpr (can_reduce(ReduceOp::average, kDataTypeOf<T>)) check_average<T>(ranks);
    });
  }
  std::vector<std::int32_t> data = {7, -7};
  finish_average(DataType::i32, view(data).data, data.size(), 2);
  EXPECT_EQ(data, (std::vector<std::int32_t>{3, -3}));
}

template <class T>
std::vector<T> scaled(std::vector<T> data, double factor) {
  scale(kDataTypeOf<T>, view(data).data, data.size(), factor);
  return data;
}

// docs/acceptance.md, Precision: Integers that are scaled by a factor stay in range.
TEST_P(Reduce, ScalingIntegersTruncatesAndStaysInRange) {
  EXPECT_EQ(scaled<std::int32_t>({5, -5, 2'000'000'000, -2'000'000'000}, 1.5),
            (std::vector<std::int32_t>{7, -7, 2'147'483'647, -2'147'483'647 - 1}));
  EXPECT_EQ(scaled<std::uint8_t>({0, 100, 200}, 2.0), (std::vector<std::uint8_t>{0, 200, 255}));
  EXPECT_EQ(scaled<std::uint8_t>({1, 2}, -1.0), (std::vector<std::uint8_t>{0, 0}));
  EXPECT_EQ(scaled<std::int8_t>({-128, 127}, -1.0), (std::vector<std::int8_t>{127, -127}));
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(scaled<std::int64_t>({kMost, -kMost}, 3.0),
            (std::vector<std::int64_t>{kMost, -kMost - 1}));
  EXPECT_EQ(scaled<std::int64_t>({1}, std::numeric_limits<double>::quiet_NaN()),
            (std::vector<std::int64_t>{0}));
}

TEST_P(Reduce, ScalingFloatsIsOneMultiplication) {
  const std::vector<float> data = values<float>(kLongest, 11);
  const std::vector<float> out = scaled(data, 0.1);
  for (std::size_t i = 0; i < data.size(); ++i) {
    ASSERT_TRUE(same(ReduceOp::product, out[i], data[i] * 0.1F)) << i;
  }
  EXPECT_EQ(scaled<double>({3.0, -0.1}, 0.1), (std::vector<double>{3.0 * 0.1, -0.1 * 0.1}));
  EXPECT_EQ(scaled<BFloat16>({to_bfloat16(3.0F)}, 0.1)[0], to_bfloat16(3.0F * 0.1F));
  EXPECT_EQ(scaled<Float16>({to_float16(60000.0F)}, 2.0)[0], Float16{0x7c00});
}

}  // namespace
}  // namespace bp
