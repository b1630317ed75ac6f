// The functions of ModelKernels, apart from how kernels are launched. model_kernels.cu launches
// them on a device. The tests have a launcher for the host.
//
// A launcher has
//   template <class Body> static int each(Stream, const char* name, std::span<const Range>,
//                                         std::size_t count, Body);
//   template <int times, int lanes, class Body> static int rows(Stream, const char* name,
//                                         std::span<const Range>, std::size_t rows, Body);
// each() calls body(i, at) for each i below `count`. rows() calls body(i, at, team) for each row.
// at[r] is the address of range r: the bodies know the order in which the functions list the
// ranges.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/device/kernels/operations.h"
#include "trainer/model/device/element_kernels.h"
#include "trainer/model/device/model_kernels.h"
#include "trainer/model/device/pack.h"
#include "trainer/model/device/row_kernels.h"

namespace bp::trainer::device {

using bp::kernels::Range;
using Code = ModelKernels::Code;
using Stream = ModelKernels::Stream;

inline constexpr Code kUnsupported = ModelKernels::kUnsupported;

[[nodiscard]] inline std::size_t elements(const Matrix& matrix) {
  return static_cast<std::size_t>(matrix.rows) * static_cast<std::size_t>(matrix.width);
}
[[nodiscard]] inline std::size_t bytes(const Matrix& matrix) {
  return elements(matrix) * size_of(matrix.number);
}
[[nodiscard]] inline Range written(const void* memory, std::size_t bytes) {
  return {memory, memory == nullptr ? 0 : bytes, true};
}
[[nodiscard]] inline Range read(const void* memory, std::size_t bytes) {
  return {memory, memory == nullptr ? 0 : bytes, false};
}
// `count` numbers of one of the types beside matrices.
template <class T>
[[nodiscard]] Range numbers(const T* memory, std::int64_t count) {
  return read(memory, static_cast<std::size_t>(count) * sizeof(T));
}
template <class T>
[[nodiscard]] Range sums(T* memory, std::int64_t count) {
  return written(memory, static_cast<std::size_t>(count) * sizeof(T));
}

// Calls body.operator()<T>() with the type of the matrices' numbers.
template <class Body>
Code with_number(DataType number, const Body& body) {
  switch (number) {
    case DataType::f32:
      return body.template operator()<float>();
    case DataType::bf16:
      return body.template operator()<BFloat16>();
    case DataType::f16:
      return body.template operator()<Float16>();
    default:
      return kUnsupported;
  }
}

// Returns whether rows of `width` elements can be divided into words of `count` of them, which take
// 16 bytes.
[[nodiscard]] inline bool is_divisible(int width,
                                       int count,
                                       std::span<const void* const> addresses) {
  return width % count == 0 && std::ranges::all_of(addresses, [](const void* address) {
           return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
         });
}

// Calls body.operator()<T, count>() with the number of elements of a word, which is 1 if rows of
// `width` elements cannot be divided.
template <class Body>
Code with_pack(DataType number,
               int width,
               std::span<const void* const> addresses,
               const Body& body) {
  return with_number(number, [&]<class T>() {
    return is_divisible(width, kWord<T>, addresses) ? body.template operator()<T, kWord<T>>()
                                                    : body.template operator()<T, 1>();
  });
}

// Each team makes a kernel of its own for each type, which takes nvcc some seconds.
template <int times, int lanes>
struct TeamSize {
  static constexpr int kTimes = times;
  static constexpr int kLanes = lanes;
  static constexpr int kWidest = times * lanes * kPack;
};
template <class... Sizes>
struct Teams {};
using NormTeams =
    Teams<TeamSize<1, 16>, TeamSize<1, 32>, TeamSize<3, 32>, TeamSize<4, 32>, TeamSize<16, 32>>;
using SoftmaxTeams = Teams<TeamSize<1, 16>, TeamSize<1, 32>, TeamSize<4, 32>>;
using DropTeams = Teams<TeamSize<1, 32>, TeamSize<16, 32>>;

template <class Launcher>
struct ModelOperations {
  static Code embed(const Embed& e, Stream stream) {
    const std::array ranges = {written(e.out, bytes(e.size)),
                               numbers(e.ids, e.size.rows),
                               numbers(e.places, e.size.rows),
                               numbers(e.types, e.size.rows),
                               numbers(e.words, e.known_words * e.size.width),
                               numbers(e.positions, e.known_positions * e.size.width),
                               numbers(e.kinds, e.known_types * e.size.width)};
    const std::array<const void*, 4> aligned = {e.out, e.words, e.positions, e.kinds};
    return with_pack(e.size.number, e.size.width, aligned, [&]<class T, int count>() {
      const int packs = e.size.width / count;
      return each(stream, "embed", ranges, elements(e.size) / count, EmbedPack<T, count>{packs});
    });
  }

  static Code embed_backward(const EmbedBackward& e, Stream stream) {
    const Range d = numbers(e.d, e.tokens * e.width);
    const std::array positions = {sums(e.positions, std::int64_t{e.longest} * e.width), d,
                                  numbers(e.firsts, e.samples), numbers(e.lengths, e.samples)};
    const std::array types = {sums(e.types, std::int64_t{e.pieces} * e.known_types * e.width), d,
                              numbers(e.type, e.tokens)};
    const std::array<const void*, 3> aligned = {e.d, e.positions, e.types};
    const auto launch = [&]<int count>() {
      const int packs = e.width / count;
      const Code code = each(stream, "positions", positions,
                             static_cast<std::size_t>(packs) * static_cast<std::size_t>(e.longest),
                             PositionSums<count>{packs, e.samples});
      if (code != 0) return code;
      return each(stream, "types", types,
                  static_cast<std::size_t>(packs) * static_cast<std::size_t>(e.pieces),
                  TypeSums<count>{packs, e.pieces, e.known_types, e.tokens});
    };
    return is_divisible(e.width, kWord<float>, aligned) ? launch.template operator()<kWord<float>>()
                                                        : launch.template operator()<1>();
  }

  static Code add_norm(const AddNorm& n, Stream stream) {
    const Matrix& size = n.size;
    const std::array ranges = {
        written(n.z, bytes(size)),        written(n.y, bytes(size)),
        sums(n.mean, size.rows),          sums(n.rstd, size.rows),
        read(n.x, bytes(size)),           numbers(n.bias, size.width),
        read(n.residual, bytes(size)),    numbers(n.gamma, size.width),
        numbers(n.beta, size.width),      numbers(n.drop.samples, n.drop.known_samples),
        numbers(n.drop.places, size.rows)};
    return with_number(size.number, [&]<class T>() {
      return rows_of(NormTeams(), stream, "add_norm", ranges, size,
                     AddNormRow<T>{shape_of(size, ranges), n.epsilon, n.bias != nullptr,
                                   n.residual != nullptr, n.drop});
    });
  }

  static Code add_norm_backward(const AddNormBackward& n, Stream stream) {
    const Matrix& size = n.size;
    const std::array ranges = {
        written(n.dz, bytes(size)),       written(n.dx, bytes(size)),
        read(n.dy, bytes(size)),          read(n.z, bytes(size)),
        numbers(n.mean, size.rows),       numbers(n.rstd, size.rows),
        numbers(n.gamma, size.width),     numbers(n.drop.samples, n.drop.known_samples),
        numbers(n.drop.places, size.rows)};
    const Code code = with_number(size.number, [&]<class T>() {
      return rows_of(NormTeams(), stream, "add_norm_backward", ranges, size,
                     AddNormBackwardRow<T>{shape_of(size, ranges), n.drop});
    });
    return code == 0 ? norm_sums(n, stream) : code;
  }

  static Code gelu(const Gelu& g, Stream stream) {
    const std::array ranges = {written(g.y, bytes(g.size)), read(g.x, bytes(g.size)),
                               numbers(g.bias, g.size.width)};
    const std::array<const void*, 2> aligned = {g.y, g.x};
    return with_pack(g.size.number, g.size.width, aligned, [&]<class T, int count>() {
      const int packs = g.size.width / count;
      const std::size_t all = elements(g.size) / count;
      return g.by_tanh ? each(stream, "gelu", ranges, all, GeluPack<T, count, true>{packs})
                       : each(stream, "gelu", ranges, all, GeluPack<T, count, false>{packs});
    });
  }

  static Code gelu_backward(const GeluBackward& g, Stream stream) {
    const std::array ranges = {
        written(g.dx, bytes(g.size)), sums(g.sums, std::int64_t{g.pieces} * g.size.width),
        read(g.dy, bytes(g.size)), read(g.x, bytes(g.size)), numbers(g.bias, g.size.width)};
    const std::array<const void*, 3> aligned = {g.dx, g.dy, g.x};
    return with_pack(g.size.number, g.size.width, aligned, [&]<class T, int count>() {
      const int packs = g.size.width / count;
      const auto with = [&](const auto& body) {
        return each(stream, "gelu_backward", ranges,
                    static_cast<std::size_t>(packs) * static_cast<std::size_t>(g.pieces), body);
      };
      return g.by_tanh ? with(GeluBackwardColumns<T, count, true>{
                             .packs = packs, .pieces = g.pieces, .rows = g.size.rows})
                       : with(GeluBackwardColumns<T, count, false>{
                             .packs = packs, .pieces = g.pieces, .rows = g.size.rows});
    });
  }

  static Code drop(const DropRows& d, Stream stream) {
    const std::array ranges = {written(d.y, bytes(d.size)), read(d.x, bytes(d.size)),
                               numbers(d.drop.samples, d.drop.known_samples),
                               numbers(d.drop.places, d.size.rows)};
    return with_number(d.size.number, [&]<class T>() {
      return rows_of(DropTeams(), stream, "drop", ranges, d.size,
                     DropRowBody<T>{shape_of(d.size, ranges), d.drop});
    });
  }

  static Code softmax(const Softmax& s, Stream stream) {
    const std::array ranges = {written(s.p, bytes(s.size)), written(s.dropped, bytes(s.size)),
                               read(s.scores, bytes(s.size)),
                               numbers(s.lengths, s.size.rows / s.heads / s.queries),
                               numbers(s.drop.samples, s.drop.known_samples)};
    return with_number(s.size.number, [&]<class T>() {
      return rows_of(SoftmaxTeams(), stream, "softmax", ranges, s.size,
                     SoftmaxRow<T>{shape_of(s.size, ranges), s.heads, s.queries, s.scale,
                                   s.dropped != nullptr, s.drop});
    });
  }

  static Code softmax_backward(const SoftmaxBackward& s, Stream stream) {
    const std::array ranges = {written(s.d_scores, bytes(s.size)), read(s.p, bytes(s.size)),
                               read(s.dropped, bytes(s.size)), read(s.d_dropped, bytes(s.size)),
                               numbers(s.lengths, s.size.rows / s.heads / s.queries)};
    return with_number(s.size.number, [&]<class T>() {
      return rows_of(SoftmaxTeams(), stream, "softmax_backward", ranges, s.size,
                     SoftmaxBackwardRow<T>{shape_of(s.size, ranges), s.heads, s.queries, s.scale});
    });
  }

  static Code split_heads(const SplitHeads& s, Stream stream) {
    const Heads& heads = s.heads;
    const int width = heads.heads * heads.head_size;
    std::array ranges = {matrices(heads, 0, true),
                         matrices(heads, 1, true),
                         matrices(heads, 2, true),
                         numbers(heads.firsts, heads.samples),
                         numbers(heads.lengths, heads.samples),
                         rows_range(heads, false),
                         numbers(s.bias, std::int64_t{width} * heads.parts)};
    return with_pack(heads.number, heads.head_size, addresses(heads), [&]<class T, int count>() {
      const int packs = heads.head_size / count;
      const std::int64_t places = heads.samples * (heads.first_only ? 1 : heads.longest);
      return each(stream, "split_heads", ranges,
                  static_cast<std::size_t>(places * heads.parts * heads.heads * packs),
                  SplitHeadsPack<T, count>{heads, packs, s.bias != nullptr});
    });
  }

  static Code merge_heads(const MergeHeads& m, Stream stream) {
    const Heads& heads = m.heads;
    const std::int64_t width = std::int64_t{heads.parts} * heads.heads * heads.head_size;
    const std::array ranges = {matrices(heads, 0, false), matrices(heads, 1, false),
                               matrices(heads, 2, false), numbers(heads.padded, heads.tokens),
                               rows_range(heads, true),   sums(m.sums, m.pieces * width)};
    return with_pack(heads.number, heads.head_size, addresses(heads), [&]<class T, int count>() {
      const int packs = heads.head_size / count;
      return each(
          stream, "merge_heads", ranges,
          static_cast<std::size_t>(std::int64_t{m.pieces} * heads.parts * heads.heads * packs),
          MergeHeadsColumns<T, count>{heads, packs, m.pieces, m.sums != nullptr});
    });
  }

  static constexpr ModelKernels table() {
    return {ModelKernels::kVersion,
            embed,
            embed_backward,
            add_norm,
            add_norm_backward,
            gelu,
            gelu_backward,
            drop,
            softmax,
            softmax_backward,
            split_heads,
            merge_heads};
  }

 private:
  // Kernels count in 32 bits.
  static bool fits(std::size_t count) { return count <= 0xffffffffU; }

  template <class Body>
  static Code each(Stream stream,
                   const char* name,
                   std::span<const Range> ranges,
                   std::size_t count,
                   const Body& body) {
    return fits(count) ? Launcher::each(stream, name, ranges, count, body) : kUnsupported;
  }

  static RowShape shape_of(const Matrix& size, std::span<const Range> ranges) {
    const bool aligned =
        size.width % kPack == 0 && std::ranges::all_of(ranges, [](const Range& range) {
          return reinterpret_cast<std::uintptr_t>(range.memory) % 16 == 0;
        });
    return {size.width, aligned};
  }

  // Launches `body` with the first of the teams that is large enough.
  template <class Body, class First, class... Others>
  static Code rows_of(Teams<First, Others...> /*teams*/,
                      Stream stream,
                      const char* name,
                      std::span<const Range> ranges,
                      const Matrix& size,
                      const Body& body) {
    if (!fits(static_cast<std::size_t>(size.rows))) return kUnsupported;
    if (size.width <= First::kWidest) {
      return Launcher::template rows<First::kTimes, First::kLanes>(
          stream, name, ranges, static_cast<std::size_t>(size.rows), body);
    }
    if constexpr (sizeof...(Others) == 0) {
      return kUnsupported;
    } else {
      return rows_of(Teams<Others...>(), stream, name, ranges, size, body);
    }
  }

  static Code norm_sums(const AddNormBackward& n, Stream stream) {
    const Matrix& size = n.size;
    const void* const dx = n.dx != nullptr ? n.dx : n.dz;
    const std::array ranges = {sums(n.sums, std::int64_t{n.pieces} * 3 * size.width),
                               read(dx, bytes(size)),
                               read(n.dy, bytes(size)),
                               read(n.z, bytes(size)),
                               numbers(n.mean, size.rows),
                               numbers(n.rstd, size.rows)};
    const std::array<const void*, 3> aligned = {dx, n.dy, n.z};
    return with_pack(size.number, size.width, aligned, [&]<class T, int count>() {
      const int packs = size.width / count;
      return each(stream, "norm_sums", ranges,
                  static_cast<std::size_t>(packs) * static_cast<std::size_t>(n.pieces),
                  NormSumsColumns<T, count>{packs, n.pieces, size.rows});
    });
  }

  static Range matrices(const Heads& heads, int part, bool writes) {
    const std::size_t count =
        static_cast<std::size_t>(heads.samples) * static_cast<std::size_t>(heads.heads) *
        static_cast<std::size_t>(heads.length[part]) * static_cast<std::size_t>(heads.head_size);
    const void* const memory = heads.matrices[part];
    return writes ? written(memory, count * size_of(heads.number))
                  : read(memory, count * size_of(heads.number));
  }
  static Range rows_range(const Heads& heads, bool writes) {
    const std::int64_t rows = heads.first_only ? heads.samples : heads.tokens;
    const auto count = static_cast<std::size_t>(rows * heads.parts * heads.heads * heads.head_size);
    return writes ? written(heads.rows, count * size_of(heads.number))
                  : read(heads.rows, count * size_of(heads.number));
  }
  static std::array<const void*, kMostParts + 1> addresses(const Heads& heads) {
    return {heads.matrices[0], heads.matrices[1], heads.matrices[2], heads.rows};
  }
};

}  // namespace bp::trainer::device
