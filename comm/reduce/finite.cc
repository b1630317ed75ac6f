#include "comm/reduce/finite.h"

#include <cstdint>
#include <cstring>

#include "comm/reduce/reduce_kernel.h"

namespace bp {
namespace {

// A number is finite unless all bits of its exponent are set. Counts instead of leaving the loop,
// so that the compiler makes vectors of it.
template <class Bits>
bool has_no_exponent(const std::byte* data, std::size_t count, Bits exponent) {
  std::size_t others = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, data + i * sizeof bits, sizeof bits);
    others += static_cast<Bits>(bits & exponent) == exponent ? 1U : 0U;
  }
  return others == 0;
}

}  // namespace

bool all_finite(DataType type, const std::byte* data, std::size_t count) {
  const Kernel kernel = kernel_of(type);
  const std::size_t lanes = count * kernel.lanes;
  switch (kernel.lane) {
    case Lane::f16:
      return has_no_exponent<std::uint16_t>(data, lanes, 0x7c00);
    case Lane::bf16:
      return has_no_exponent<std::uint16_t>(data, lanes, 0x7f80);
    case Lane::f32:
      return has_no_exponent<std::uint32_t>(data, lanes, 0x7f800000);
    case Lane::f64:
      return has_no_exponent<std::uint64_t>(data, lanes, 0x7ff0000000000000);
    case Lane::u8:
    case Lane::i8:
    case Lane::u16:
    case Lane::i32:
    case Lane::i64:
      return true;
  }
  return true;
}

}  // namespace bp
