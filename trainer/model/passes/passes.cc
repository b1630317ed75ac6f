#include "trainer/model/passes/passes.h"

#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/model/device/open_model_kernels.h"
#include "trainer/model/passes/device_layout.h"
#include "trainer/model/passes/rows.h"
#include "trainer/model/passes/words_of_batch.h"

namespace bp::trainer::passes {
namespace {

using at::Tensor;
using device::ModelKernels;

// Runs a kernel on the device of `x`, with arguments of its memory.
template <class Arguments>
void run(ModelKernels::Code (*ModelKernels::*kernel)(const Arguments&, ModelKernels::Stream),
         const char* name,
         const Arguments& arguments,
         const Tensor& x) {
  if (x.is_cpu()) {
    (host_kernels().*kernel)(arguments, nullptr);
    return;
  }
  const c10::impl::VirtualGuardImpl guard(x.device().type());
  const ModelKernels::Code code =
      (device::model_kernels().*kernel)(arguments, guard.getStream(x.device()).native_handle());
  if (code == 0) return;
  throw Error(ErrorCode::io,
              code == ModelKernels::kUnsupported
                  ? concat("the device has no ", name, " for rows of ", x.size(-1), " numbers")
                  : concat("error ", code, " of CUDA at the start of ", name));
}

device::Matrix size_of(const Tensor& x) {
  return {x.numel() / x.size(-1), static_cast<int>(x.size(-1)), number_of(x)};
}

// The number of pieces of a matrix's rows that threads sum up side by side. It depends on the
// matrix only, so all devices get the same sums, and so does any number of threads.
int pieces_for(const Tensor& x, std::int64_t rows, std::int64_t width) {
  if (x.is_cpu()) return kSumPieces;
  constexpr std::int64_t kThreads = 1 << 17;  // more than a device runs at once
  constexpr std::int64_t kPack = 8;           // numbers that a thread takes together
  const std::int64_t wanted = kThreads * kPack / std::max<std::int64_t>(1, width);
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, rows)));
}

// The host's kernels add to sums, and a device's set them.
Tensor sums_for(const Tensor& like, int pieces, std::int64_t width) {
  const auto options = like.options().dtype(at::kFloat);
  return like.is_cpu() ? at::zeros({pieces, width}, options) : at::empty({pieces, width}, options);
}

// The numbers of a layout in the memory of `x`.
struct Places {
  Places(const Layout& layout, const Tensor& x)
      : host(layout), device(x.is_cpu() ? nullptr : layout.on_device.get()) {}
  [[nodiscard]] const std::int64_t* of(const std::vector<std::int64_t> Layout::*on_host,
                                       const Tensor DeviceLayout::*on_device) const {
    return device == nullptr ? (host.*on_host).data() : data<std::int64_t>(device->*on_device);
  }
  [[nodiscard]] const std::int64_t* samples() const {
    return of(&Layout::samples, &DeviceLayout::samples);
  }
  [[nodiscard]] const std::int64_t* lengths() const {
    return of(&Layout::lengths, &DeviceLayout::lengths);
  }
  [[nodiscard]] const std::int64_t* firsts() const {
    return of(&Layout::offsets, &DeviceLayout::firsts);
  }
  [[nodiscard]] const std::int64_t* place_of_token() const {
    return of(&Layout::place_of_token, &DeviceLayout::place_of_token);
  }
  [[nodiscard]] const std::int64_t* position_of_token() const {
    if (host.position_of_token.empty()) return place_of_token();
    return of(&Layout::position_of_token, &DeviceLayout::position_of_token);
  }
  const Layout& host;
  const DeviceLayout* device;
};

device::Drop without_rows(const Dropout& dropout, const Layout& layout) {
  const kernels::DropoutRow row = DropoutRows(dropout, layout).of_no_row();
  device::Drop drop;
  drop.key[0] = row.key[0];
  drop.key[1] = row.key[1];
  drop.site = row.site;
  drop.threshold = row.threshold;
  drop.scale = row.scale;
  return drop;
}

// For rows of tokens.
device::Drop token_drop(const Dropout& dropout, const Layout& layout, const Tensor& x) {
  const Places places(layout, x);
  device::Drop drop = without_rows(dropout, layout);
  drop.samples = places.of(&Layout::sample_of_token, &DeviceLayout::sample_of_token);
  drop.places = places.place_of_token();
  drop.known_samples = layout.tokens;
  return drop;
}

device::Heads heads_of(const Layout& layout,
                       const Heads& heads,
                       const Parts& parts,
                       const Tensor& rows) {
  BP_CHECK(parts.lengths.size() <= device::kMostParts, "more parts than queries, keys and values");
  const Places places(layout, rows);
  device::Heads result;
  result.number = number_of(rows);
  result.samples = layout.rows;
  result.tokens = layout.offsets.back();
  result.longest = layout.longest;
  result.parts = static_cast<int>(parts.lengths.size());
  result.heads = heads.count;
  result.head_size = heads.size;
  for (std::size_t p = 0; p < parts.lengths.size(); ++p) {
    result.length[p] = parts.lengths[p];
    result.matrices[p] = parts.matrices[p].data_ptr();
  }
  result.rows = rows.data_ptr();
  result.first_only = rows.size(0) == layout.rows && parts.lengths[0] == 1;
  result.firsts = places.firsts();
  result.lengths = places.lengths();
  result.padded = places.of(&Layout::padded_of_token, &DeviceLayout::padded_of_token);
  return result;
}

}  // namespace

Tensor embed(const Layout& layout,
             const Tensor& token_ids,
             const Tensor& token_types,
             const EmbedTables& tables,
             at::ScalarType number) {
  Tensor out = at::empty({layout.tokens, tables.word.size(1)}, tables.word.options().dtype(number));
  device::Embed e;
  e.size = size_of(out);
  e.out = out.data_ptr();
  e.tokens = layout.offsets.back();
  e.ids = data<std::int64_t>(token_ids);
  e.places = Places(layout, out).position_of_token();
  e.types = data<std::int64_t>(token_types);
  e.words = data<float>(tables.word);
  e.positions = data<float>(tables.position);
  e.kinds = data<float>(tables.type);
  e.known_words = tables.word.size(0);
  e.known_positions = tables.position.size(0);
  e.known_types = tables.type.size(0);
  run(&ModelKernels::embed, "embed", e, out);
  return out;
}

EmbedGradients embed_backward(const Layout& layout,
                              const Tensor& token_ids,
                              const Tensor& token_types,
                              const Tensor& d_out,
                              const EmbedSizes& sizes) {
  const bool on_host = d_out.is_cpu();
  BP_CHECK(on_host || !sizes.sparse_words, "a sparse gradient on a device");
  const std::int64_t width = d_out.size(1);
  const Places places(layout, d_out);
  device::EmbedBackward e;
  e.tokens = layout.offsets.back();
  e.pieces = on_host ? 1 : pieces_for(d_out, layout.tokens, width);
  const Tensor types = sums_for(d_out, e.pieces, sizes.types * width);
  EmbedGradients result;
  result.position = at::zeros({sizes.positions, width}, d_out.options());
  WordsOfBatch batch;
  if (on_host) {
    e.ids = data<std::int64_t>(token_ids);
    e.places = places.position_of_token();
    if (sizes.sparse_words) {
      batch = words_of_batch({e.ids, static_cast<std::size_t>(e.tokens)});
      e.ids = batch.places.data();
    }
    result.word = zero_rows(sizes.sparse_words ? std::ssize(batch.words) : sizes.words, width);
    e.words = data<float>(result.word);
  } else {
    result.word = at::embedding_dense_backward(d_out, token_ids, sizes.words, /*padding_idx=*/-1,
                                               /*scale_grad_by_freq=*/false);
  }
  e.samples = layout.rows;
  e.width = static_cast<int>(width);
  e.longest = static_cast<int>(std::min<std::int64_t>(layout.longest, sizes.positions));
  e.d = data<float>(d_out);
  e.positions = data<float>(result.position);
  e.types = data<float>(types);
  e.known_types = static_cast<int>(sizes.types);
  e.type = data<std::int64_t>(token_types);
  e.firsts = places.firsts();
  e.lengths = places.lengths();
  run(&ModelKernels::embed_backward, "embed_backward", e, d_out);
  if (!on_host && !layout.position_of_token.empty()) {
    result.position = at::embedding_dense_backward(d_out, places.device->position_of_token,
                                                   sizes.positions, /*padding_idx=*/-1,
                                                   /*scale_grad_by_freq=*/false);
  }
  result.type = at::sum(types, {0}).view({sizes.types, width});
  if (sizes.sparse_words) {
    const Tensor numbers = at::tensor(batch.words, at::kLong).unsqueeze(0);
    result.word =
        at::_sparse_coo_tensor_unsafe(numbers, result.word, {sizes.words, width})._coalesced_(true);
  }
  return result;
}

Tensor gelu(const Tensor& x, const Tensor& bias, bool by_tanh) {
  Tensor y = at::empty_like(x);
  run(&ModelKernels::gelu, "gelu",
      device::Gelu{.size = size_of(x),
                   .y = y.data_ptr(),
                   .x = x.const_data_ptr(),
                   .bias = data<float>(bias),
                   .by_tanh = by_tanh},
      x);
  return y;
}

std::pair<Tensor, Tensor> gelu_backward(const Tensor& dy,
                                        const Tensor& x,
                                        const Tensor& bias,
                                        bool by_tanh) {
  Tensor dx = at::empty_like(x);
  const int pieces = pieces_for(x, x.size(0), x.size(1));
  const Tensor sums = sums_for(x, pieces, x.size(1));
  run(&ModelKernels::gelu_backward, "gelu_backward",
      device::GeluBackward{.size = size_of(x),
                           .dx = dx.data_ptr(),
                           .sums = data<float>(sums),
                           .pieces = pieces,
                           .dy = dy.const_data_ptr(),
                           .x = x.const_data_ptr(),
                           .bias = data<float>(bias),
                           .by_tanh = by_tanh},
      x);
  return {dx, at::sum(sums, {0})};
}

Normed add_norm(const Layout& layout,
                const Tensor& x,
                const Tensor& bias,
                const Tensor& residual,
                const Norm& norm,
                const Dropout& dropout) {
  Normed result;
  result.z = at::empty_like(x);
  result.y = at::empty_like(x);
  result.mean = at::empty({x.size(0)}, x.options().dtype(at::kFloat));
  result.rstd = at::empty_like(result.mean);
  device::AddNorm n;
  n.size = size_of(x);
  n.z = result.z.data_ptr();
  n.y = result.y.data_ptr();
  n.mean = data<float>(result.mean);
  n.rstd = data<float>(result.rstd);
  n.x = x.const_data_ptr();
  n.bias = data<float>(bias);
  n.residual = residual.defined() ? residual.const_data_ptr() : nullptr;
  n.gamma = data<float>(norm.gamma);
  n.beta = data<float>(norm.beta);
  n.epsilon = static_cast<float>(norm.epsilon);
  n.drop = token_drop(dropout, layout, x);
  run(&ModelKernels::add_norm, "add_norm", n, x);
  return result;
}

NormGradients add_norm_backward(const Layout& layout,
                                const Tensor& dy,
                                const Normed& normed,
                                const Tensor& gamma,
                                bool has_bias,
                                const Dropout& dropout) {
  const Tensor& z = normed.z;
  const std::int64_t width = z.size(1);
  device::AddNormBackward n;
  n.drop = token_drop(dropout, layout, z);
  const Tensor dz = at::empty_like(z);
  const Tensor dx = n.drop.threshold != 0 ? at::empty_like(z) : dz;
  n.pieces = pieces_for(z, z.size(0), width);
  const Tensor sums = sums_for(z, n.pieces, 3 * width);
  n.size = size_of(z);
  n.dz = dz.data_ptr();
  n.dx = n.drop.threshold != 0 ? dx.data_ptr() : nullptr;
  n.sums = data<float>(sums);
  n.dy = dy.const_data_ptr();
  n.z = z.const_data_ptr();
  n.mean = data<float>(normed.mean);
  n.rstd = data<float>(normed.rstd);
  n.gamma = data<float>(gamma);
  n.has_bias = has_bias;
  run(&ModelKernels::add_norm_backward, "add_norm_backward", n, z);
  const Tensor all = at::sum(sums, {0});
  return {dz, dx, all.slice(0, 0, width), all.slice(0, width, 2 * width),
          has_bias ? all.slice(0, 2 * width) : Tensor()};
}

Tensor drop(const Layout& layout, const Tensor& x, const Dropout& dropout) {
  Tensor y = at::empty_like(x);
  run(&ModelKernels::drop, "drop",
      device::DropRows{size_of(x), y.data_ptr(), x.const_data_ptr(),
                       token_drop(dropout, layout, x)},
      x);
  return y;
}

Parts split(const Layout& layout,
            const Heads& heads,
            const Tensor& x,
            const Tensor& bias,
            std::vector<int> lengths) {
  Parts parts{{}, std::move(lengths)};
  for (const int length : parts.lengths) {
    parts.matrices.push_back(
        at::empty({std::int64_t{layout.rows} * heads.count, length, heads.size}, x.options()));
  }
  run(&ModelKernels::split_heads, "split_heads",
      device::SplitHeads{heads_of(layout, heads, parts, x), data<float>(bias)}, x);
  return parts;
}

Tensor merge(const Layout& layout, const Heads& heads, const Parts& parts, Tensor* bias_sum) {
  const bool first_only = parts.lengths.size() == 1 && parts.lengths[0] == 1;
  const std::int64_t width = std::ssize(parts.lengths) * heads.count * heads.size;
  Tensor x =
      at::empty({first_only ? layout.rows : layout.tokens, width}, parts.matrices[0].options());
  device::MergeHeads m;
  m.heads = heads_of(layout, heads, parts, x);
  m.pieces = pieces_for(x, x.size(0), width);
  Tensor sums;
  if (bias_sum != nullptr) sums = sums_for(x, m.pieces, width);
  m.sums = data<float>(sums);
  m.filled = x.size(0);
  run(&ModelKernels::merge_heads, "merge_heads", m, x);
  if (bias_sum != nullptr) *bias_sum = at::sum(sums, {0});
  return x;
}

Tensor softmax(const Layout& layout,
               const Heads& heads,
               const Tensor& scores,
               float scale,
               const Dropout& dropout) {
  const Places places(layout, scores);
  device::Softmax s;
  s.queries = static_cast<int>(scores.size(1));
  s.drop = without_rows(dropout, layout);
  s.drop.samples = places.samples();
  s.drop.known_samples = layout.rows;
  s.drop.heads = heads.count;
  s.drop.queries = s.queries;
  Tensor dropped = s.drop.threshold != 0 ? at::empty_like(scores) : scores;
  s.size = size_of(scores);
  s.p = scores.data_ptr();
  s.dropped = s.drop.threshold != 0 ? dropped.data_ptr() : nullptr;
  s.scores = scores.const_data_ptr();
  s.lengths = places.lengths();
  s.heads = heads.count;
  s.scale = scale;
  run(&ModelKernels::softmax, "softmax", s, scores);
  return dropped;
}

void softmax_backward(const Layout& layout,
                      const Heads& heads,
                      const Tensor& p,
                      const Tensor& dropped,
                      const Tensor& d,
                      float scale) {
  device::SoftmaxBackward s;
  s.size = size_of(p);
  s.d_scores = d.data_ptr();
  s.p = p.const_data_ptr();
  s.dropped = dropped.const_data_ptr();
  s.d_dropped = d.const_data_ptr();
  s.lengths = Places(layout, p).lengths();
  s.heads = heads.count;
  s.queries = static_cast<int>(p.size(1));
  s.scale = scale;
  run(&ModelKernels::softmax_backward, "softmax_backward", s, p);
}

}  // namespace bp::trainer::passes
