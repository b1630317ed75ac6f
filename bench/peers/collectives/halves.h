// Sums of 16-bit floating-point numbers as operations of MPI, for the MPIs that have none. Both add
// eight elements at a time, which they widen to f32 and round to the nearest.
#pragma once

#include <immintrin.h>
#include <mpi.h>

#include <bit>
#include <cstdint>

namespace peers {

[[gnu::target("avx2,f16c")]] inline void add_f16(void* from, void* to, int* count, MPI_Datatype*) {
  const auto* in = static_cast<const std::uint16_t*>(from);
  auto* out = static_cast<std::uint16_t*>(to);
  int i = 0;
  for (; i + 8 <= *count; i += 8) {
    const __m256 given = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
    const __m256 held = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(out + i)));
    const __m128i sum = _mm256_cvtps_ph(_mm256_add_ps(given, held), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), sum);
  }
  for (; i < *count; ++i) {
    out[i] = _cvtss_sh(_cvtsh_ss(in[i]) + _cvtsh_ss(out[i]), _MM_FROUND_TO_NEAREST_INT);
  }
}

// The compiler vectorizes this loop. It may turn a NaN into an infinity.
[[gnu::target("avx2"), gnu::optimize("O3")]] inline void add_bf16(void* from,
                                                                  void* to,
                                                                  int* count,
                                                                  MPI_Datatype*) {
  const auto* in = static_cast<const std::uint16_t*>(from);
  auto* out = static_cast<std::uint16_t*>(to);
  const int length = *count;
  for (int i = 0; i < length; ++i) {
    const float sum = std::bit_cast<float>(static_cast<std::uint32_t>(in[i]) << 16) +
                      std::bit_cast<float>(static_cast<std::uint32_t>(out[i]) << 16);
    const auto bits = std::bit_cast<std::uint32_t>(sum);
    out[i] = static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
}

}  // namespace peers
