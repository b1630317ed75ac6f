// Checks all 65,536 patterns of both formats against an oracle that knows only the meaning of the
// bits: the nearest of all values, and the even one of two equally near.
#include "comm/reduce/halves.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ios>
#include <limits>
#include <random>

#include "tests/unit/simd_target.h"

namespace bp {
namespace {

constexpr int kPatterns = 65536;

struct Format {
  DataType type;
  int mantissa_bits;
  int bias;
  int top_exponent;  // the exponent of infinities and NaNs
  std::uint16_t quiet_nan;
};
constexpr Format kF16{DataType::f16, 10, 15, 31, 0x7e00};
constexpr Format kBf16{DataType::bf16, 7, 127, 255, 0x7fc0};

double meaning(const Format& format, std::uint16_t bits) {
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int exponent = (bits >> format.mantissa_bits) & format.top_exponent;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == format.top_exponent) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const int implicit = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  const int power = std::max(exponent, 1) - format.bias - format.mantissa_bits;
  return sign * std::ldexp(mantissa + implicit, power);
}

class Oracle {
 public:
  explicit Oracle(const Format& format) : format_(format) {
    for (int bits = 0; bits < format.top_exponent << format.mantissa_bits; ++bits) {
      values_.push_back(meaning(format, static_cast<std::uint16_t>(bits)));
    }
    // The value that infinity would have if the exponents continued.
    values_.push_back(std::ldexp(1.0, format.top_exponent - format.bias));
  }

  std::uint16_t nearest(float value) const {
    if (std::isnan(value)) return format_.quiet_nan;
    const double magnitude = std::abs(static_cast<double>(value));
    const int sign = std::signbit(value) ? 0x8000 : 0;
    const auto above = std::lower_bound(values_.begin(), values_.end(), magnitude);
    auto bits = static_cast<int>(above - values_.begin());
    if (above == values_.end()) {
      bits = static_cast<int>(values_.size()) - 1;
    } else if (*above != magnitude) {
      const double up = *above - magnitude;
      const double down = magnitude - *(above - 1);
      if (down < up || (down == up && bits % 2 == 1)) --bits;
    }
    return static_cast<std::uint16_t>(sign | bits);
  }

 private:
  Format format_;
  std::vector<double> values_;  // of all patterns from 0 up, without NaNs
};

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

std::uint32_t wanted_wide(const Format& format, std::uint16_t bits) {
  const double value = meaning(format, bits);
  return std::isnan(value) ? bits_of(quiet_nan()) : bits_of(static_cast<float>(value));
}

float scalar_wide(const Format& format, std::uint16_t bits) {
  return format.type == DataType::f16 ? to_float(Float16{bits}) : to_float(BFloat16{bits});
}

std::uint16_t scalar_narrow(const Format& format, float value) {
  return format.type == DataType::f16 ? static_cast<std::uint16_t>(to_float16(value))
                                      : static_cast<std::uint16_t>(to_bfloat16(value));
}

// Every value of the format, every midpoint of two neighbours, the floats next to either, and
// values far away from them.
std::vector<float> hard_values(const Format& format) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {kInfinity,
                               -kInfinity,
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::denorm_min(),
                               std::bit_cast<float>(0xffc12345U),
                               std::bit_cast<float>(0x7f800001U),
                               std::bit_cast<float>(0x7fffffffU)};
  for (int i = 0; i < kPatterns; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const double value = meaning(format, bits);
    if (!std::isfinite(value)) continue;
    double next = meaning(format, static_cast<std::uint16_t>(bits + 1));
    if (std::isinf(next)) {
      next = std::copysign(std::ldexp(1.0, format.top_exponent - format.bias), value);
    }
    for (const double hard : {value, value + (next - value) / 2}) {
      const auto exact = static_cast<float>(hard);
      values.push_back(exact);
      values.push_back(std::nextafter(exact, kInfinity));
      values.push_back(std::nextafter(exact, -kInfinity));
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  }
  return values;
}

class Halves : public SimdTest {};
INSTANTIATE_TEST_SUITE_P(Machines, Halves, testing::ValuesIn(simd_targets()), simd_name);

// docs/acceptance.md, Precision: All 65,536 patterns of f16 and bf16 widen to the right f32.
TEST_P(Halves, WidenAllPatterns) {
  for (const Format& format : {kF16, kBf16}) {
    std::vector<std::uint16_t> halves(kPatterns);
    for (int i = 0; i < kPatterns; ++i) {
      halves[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(i);
    }
    std::vector<float> wide(halves.size());
    widen(format.type, view(wide).data, reinterpret_cast<const std::byte*>(halves.data()),
          halves.size());
    for (std::size_t i = 0; i < halves.size(); ++i) {
      ASSERT_EQ(bits_of(wide[i]), wanted_wide(format, halves[i])) << std::hex << i;
      ASSERT_EQ(bits_of(scalar_wide(format, halves[i])), bits_of(wide[i])) << std::hex << i;
    }
  }
}

// docs/acceptance.md, Precision: f32 narrows to the nearest f16 and bf16, and ties to even.
TEST_P(Halves, NarrowToTheNearestAndTiesToEven) {
  for (const Format& format : {kF16, kBf16}) {
    const Oracle oracle(format);
    const std::vector<float> values = hard_values(format);
    std::vector<std::uint16_t> halves(values.size());
    narrow(format.type, reinterpret_cast<std::byte*>(halves.data()), const_view(values).data,
           values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(halves[i], oracle.nearest(values[i])) << std::hexfloat << values[i];
      ASSERT_EQ(scalar_narrow(format, values[i]), halves[i]) << std::hexfloat << values[i];
    }
  }
}

TEST_P(Halves, WideningAndNarrowingIsExact) {
  for (const Format& format : {kF16, kBf16}) {
    for (int i = 0; i < kPatterns; ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      const bool nan = std::isnan(meaning(format, bits));
      ASSERT_EQ(scalar_narrow(format, scalar_wide(format, bits)), nan ? format.quiet_nan : bits);
    }
  }
}

// Lengths that are not a multiple of any vector and unaligned addresses. Nothing may be written
// beyond the end.
// docs/acceptance.md, Precision: Any address and any length work.
TEST_P(Halves, AnyLengthAndAlignment) {
  for (const Format& format : {kF16, kBf16}) {
    for (std::size_t count = 0; count <= 67; ++count) {
      for (const std::size_t shift : {0U, 1U, 2U, 7U}) {
        std::vector<std::byte> halves(200, std::byte{0xee});
        for (std::size_t i = 0; i < count; ++i) {
          const auto half = scalar_narrow(format, static_cast<float>(i) + 0.25F);
          std::memcpy(&halves[shift + 2 * i], &half, 2);
        }
        const std::vector<std::byte> original = halves;
        std::vector<std::byte> wide(400, std::byte{0xee});
        widen(format.type, &wide[shift], &halves[shift], count);
        for (std::size_t i = 0; i < count; ++i) {
          float value = 0;
          std::memcpy(&value, &wide[shift + 4 * i], 4);
          ASSERT_EQ(value,
                    scalar_wide(format, scalar_narrow(format, static_cast<float>(i) + 0.25F)));
        }
        EXPECT_EQ(wide[shift + 4 * count], std::byte{0xee});
        std::ranges::fill(halves, std::byte{0xee});
        narrow(format.type, &halves[shift], &wide[shift], count);
        EXPECT_EQ(halves, original);
        narrow(format.type, &wide[shift], &wide[shift], count);  // in place
        EXPECT_EQ(std::memcmp(&wide[shift], &original[shift], 2 * count), 0);
      }
    }
  }
}

}  // namespace
}  // namespace bp
