// The kernels, apart from how they are launched. cuda_kernels.cu launches them on a device. The
// tests have a launcher for the host, so that the same source runs without a device.
//
// A launcher has
//   template <class Body>
//   static int launch(Stream, const char* name, std::span<const Range>, std::size_t count, Body);
// It calls body(i, at) for each i below `count`, in any order: at[r] is the address of range r.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/device/kernels/cuda_kernels.h"
#include "comm/device/kernels/element.h"

namespace bp::kernels {

using Code = CudaKernels::Code;
using Stream = CudaKernels::Stream;

// Memory that a kernel touches.
struct Range {
  const void* memory = nullptr;
  std::size_t bytes = 0;
  bool writes = false;
};

inline constexpr std::size_t kMostRanges = CudaKernels::kMostPieces + 1;

template <class T>
struct Scale {
  double factor;
  BP_ON_DEVICE void operator()(std::size_t i, void* const* at) const {
    T* const data = static_cast<T*>(at[0]);
    data[i] = scaled(data[i], factor);
  }
};

template <class T>
struct Divide {
  int divisor;
  BP_ON_DEVICE void operator()(std::size_t i, void* const* at) const {
    T* const data = static_cast<T*>(at[0]);
    data[i] = divided(data[i], divisor);
  }
};

// One of To and From is float, so one of the two steps changes nothing.
template <class To, class From>
struct Convert {
  BP_ON_DEVICE void operator()(std::size_t i, void* const* at) const {
    static_cast<To*>(at[0])[i] = Wide<To>::back(Wide<From>::of(static_cast<From*>(at[1])[i]));
  }
};

// Many threads may store the same 1.
template <class T>
struct FindInfinite {
  BP_ON_DEVICE void operator()(std::size_t i, void* const* at) const {
    if (!is_finite(static_cast<const T*>(at[1])[i])) *static_cast<int*>(at[0]) = 1;
  }
};

// Moves elements, which it takes for numbers of their size. Piece p has the elements from begin[p]
// to begin[p + 1] of the packed vector, which is range 0; piece p is range p + 1.
template <class T, bool packs>
struct Move {
  std::array<std::size_t, kMostRanges> begin;
  int pieces;
  BP_ON_DEVICE void operator()(std::size_t i, void* const* at) const {
    int low = 0;
    int high = pieces;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (begin[static_cast<std::size_t>(middle)] <= i ? low : high) = middle;
    }
    T* const packed = static_cast<T*>(at[0]) + i;
    T* const piece = static_cast<T*>(at[low + 1]) + (i - begin[static_cast<std::size_t>(low)]);
    if constexpr (packs) {
      *packed = *piece;
    } else {
      *piece = *packed;
    }
  }
};

inline bool is_aligned(const ConstView& data) {
  const std::size_t alignment = data.type == DataType::c64 ? sizeof(float) : size_of(data.type);
  return reinterpret_cast<std::uintptr_t>(data.data) % alignment == 0;
}

// Calls body.operator()<T>(lanes) with the type of the elements' lanes and their number.
template <class Body>
Code with_lanes(const ConstView& data, const Body& body) {
  switch (data.type) {
    case DataType::u8:
    case DataType::boolean:
      return body.template operator()<std::uint8_t>(data.count);
    case DataType::i8:
      return body.template operator()<std::int8_t>(data.count);
    case DataType::u16:
      return body.template operator()<std::uint16_t>(data.count);
    case DataType::i32:
      return body.template operator()<std::int32_t>(data.count);
    case DataType::i64:
      return body.template operator()<std::int64_t>(data.count);
    case DataType::f16:
      return body.template operator()<Float16>(data.count);
    case DataType::bf16:
      return body.template operator()<BFloat16>(data.count);
    case DataType::f32:
      return body.template operator()<float>(data.count);
    case DataType::f64:
      return body.template operator()<double>(data.count);
    case DataType::c64:
      return body.template operator()<float>(data.count * 2);
  }
  return CudaKernels::kUnsupported;
}

template <class Launcher>
struct Operations {
  static Code scale(const View& data, double factor, Stream stream) {
    if (!is_aligned(data)) return CudaKernels::kUnsupported;
    return with_lanes(data, [&]<class T>(std::size_t count) {
      const std::array ranges = {Range{data.data, data.bytes(), true}};
      return Launcher::launch(stream, "scale", ranges, count, Scale<T>{factor});
    });
  }

  static Code divide(const View& data, int divisor, Stream stream) {
    if (!is_aligned(data)) return CudaKernels::kUnsupported;
    return with_lanes(data, [&]<class T>(std::size_t count) {
      const std::array ranges = {Range{data.data, data.bytes(), true}};
      return Launcher::launch(stream, "divide", ranges, count, Divide<T>{divisor});
    });
  }

  static Code convert(const View& to, const ConstView& from, Stream stream) {
    if (!is_aligned(to) || !is_aligned(from)) return CudaKernels::kUnsupported;
    // A narrower result may begin where its source does: then an element would be overwritten
    // before another thread has read it.
    if (to.data == from.data) return CudaKernels::kUnsupported;
    const std::array ranges = {Range{to.data, to.bytes(), true},
                               Range{from.data, from.bytes(), false}};
    const auto launch = [&](const auto& body) {
      return Launcher::launch(stream, "convert", ranges, to.count, body);
    };
    const bool narrows = from.type == DataType::f32;
    switch (narrows ? to.type : from.type) {
      case DataType::f16:
        return narrows ? launch(Convert<Float16, float>()) : launch(Convert<float, Float16>());
      case DataType::bf16:
        return narrows ? launch(Convert<BFloat16, float>()) : launch(Convert<float, BFloat16>());
      default:
        return CudaKernels::kUnsupported;
    }
  }

  static Code find_infinite(const ConstView& data, int* found, Stream stream) {
    if (!is_aligned(data)) return CudaKernels::kUnsupported;
    return with_lanes(data, [&]<class T>(std::size_t count) {
      const std::array ranges = {Range{found, sizeof *found, true},
                                 Range{data.data, data.bytes(), false}};
      return Launcher::launch(stream, "find_infinite", ranges, count, FindInfinite<T>());
    });
  }

  static Code pack(const View& packed, const CudaPiece* pieces, std::size_t count, Stream stream) {
    return move<true>(packed, {pieces, count}, stream);
  }
  static Code unpack(const View& packed,
                     const CudaPiece* pieces,
                     std::size_t count,
                     Stream stream) {
    return move<false>(packed, {pieces, count}, stream);
  }

  static constexpr CudaKernels table() {
    return {CudaKernels::kVersion, scale, divide, convert, find_infinite, pack, unpack};
  }

 private:
  template <bool packs>
  static Code move(const View& packed, std::span<const CudaPiece> pieces, Stream stream) {
    switch (size_of(packed.type)) {
      case 1:
        return move_as<std::uint8_t, packs>(packed, pieces, stream);
      case 2:
        return move_as<std::uint16_t, packs>(packed, pieces, stream);
      case 4:
        return move_as<std::uint32_t, packs>(packed, pieces, stream);
      case 8:
        return move_as<std::uint64_t, packs>(packed, pieces, stream);
      default:
        return CudaKernels::kUnsupported;
    }
  }

  template <class T, bool packs>
  static Code move_as(const View& packed, std::span<const CudaPiece> pieces, Stream stream) {
    if (pieces.empty() || pieces.size() > CudaKernels::kMostPieces) {
      return CudaKernels::kUnsupported;
    }
    const auto fits = [](const void* data) {
      return reinterpret_cast<std::uintptr_t>(data) % sizeof(T) == 0;
    };
    bool all_fit = fits(packed.data);
    Move<T, packs> body{};
    body.pieces = static_cast<int>(pieces.size());
    std::array<Range, kMostRanges> ranges;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      all_fit = all_fit && fits(pieces[p].data);
      body.begin[p + 1] = body.begin[p] + pieces[p].count;
      ranges[p + 1] = {pieces[p].data, pieces[p].count * sizeof(T), !packs};
    }
    if (!all_fit) return CudaKernels::kUnsupported;
    ranges[0] = {packed.data, body.begin[pieces.size()] * sizeof(T), packs};
    return Launcher::launch(stream, packs ? "pack" : "unpack",
                            std::span(ranges).first(pieces.size() + 1), body.begin[pieces.size()],
                            body);
  }
};

}  // namespace bp::kernels
