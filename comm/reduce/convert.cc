#include "base/check.h"
#include "comm/reduce/halves.h"
#include "comm/reduce/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce/convert.cc"
#include <hwy/foreach_target.h>  // includes this file once for each instruction set

#include "comm/reduce/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bp::HWY_NAMESPACE {

struct ConvertFloat16 {
  static HWY_INLINE VF32 wide(VU16 bits) { return canonical(from_f16(bits)); }
  static HWY_INLINE VU16 half(VF32 v) { return to_f16(v); }
};

struct ConvertBFloat16 {
  static HWY_INLINE VF32 wide(VU16 bits) {
    return canonical(hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(U32(), bits))));
  }
  static HWY_INLINE VU16 half(VF32 v) {
    const VU32 bits = hn::ShiftRight<16>(round_to_upper_half(canonical(v)));
    return hn::DemoteTo(U16(), hn::BitCast(hn::RebindToSigned<U32>(), bits));
  }
};

// One step converts as many elements as a vector holds f32.
template <class Convert>
struct Widen {
  static constexpr std::size_t kIn = 2;
  static constexpr std::size_t kOut = 4;
  static HWY_INLINE void apply(std::byte* out, const std::byte* in) {
    hn::StoreU(Convert::wide(hn::LoadU(U16(), as<std::uint16_t>(in))), F32(), as<float>(out));
  }
};

template <class Convert>
struct Narrow {
  static constexpr std::size_t kIn = 4;
  static constexpr std::size_t kOut = 2;
  static HWY_INLINE void apply(std::byte* out, const std::byte* in) {
    hn::StoreU(Convert::half(hn::LoadU(F32(), as<float>(in))), U16(), as<std::uint16_t>(out));
  }
};

template <class Step>
HWY_INLINE void convert(std::byte* out, const std::byte* in, std::size_t count) {
  const std::size_t lanes = hn::Lanes(F32());
  std::size_t done = 0;
  for (; done + lanes <= count; done += lanes) {
    Step::apply(out + done * Step::kOut, in + done * Step::kIn);
  }
  if (done == count) return;
  constexpr std::size_t kMost = hn::MaxLanes(F32());
  std::byte last[kMost * Step::kOut];
  const Padded<kMost * Step::kIn> rest(in + done * Step::kIn, (count - done) * Step::kIn);
  Step::apply(last, rest.bytes);
  std::memcpy(out + done * Step::kOut, last, (count - done) * Step::kOut);
}

void widen_any(bool bf16, std::byte* out, const std::byte* in, std::size_t count) {
  bf16 ? convert<Widen<ConvertBFloat16>>(out, in, count)
       : convert<Widen<ConvertFloat16>>(out, in, count);
}

void narrow_any(bool bf16, std::byte* out, const std::byte* in, std::size_t count) {
  bf16 ? convert<Narrow<ConvertBFloat16>>(out, in, count)
       : convert<Narrow<ConvertFloat16>>(out, in, count);
}

}  // namespace bp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp {

HWY_EXPORT(widen_any);
HWY_EXPORT(narrow_any);

namespace {

bool is_bf16(DataType half) {
  BP_CHECK(half == DataType::f16 || half == DataType::bf16, "only f16 and bf16 are converted");
  return half == DataType::bf16;
}

}  // namespace

void widen(DataType half, std::byte* out, const std::byte* in, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(widen_any)(is_bf16(half), out, in, count);
}

void narrow(DataType half, std::byte* out, const std::byte* in, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(narrow_any)(is_bf16(half), out, in, count);
}

}  // namespace bp
#endif
