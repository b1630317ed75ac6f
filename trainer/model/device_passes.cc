// The passes over a device's memory: kernels of libbp_model_cuda.so, on LibTorch's current stream.
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/model/device/open_model_kernels.h"
#include "trainer/model/device_layout.h"
#include "trainer/model/passes.h"
#include "trainer/model/rows.h"

namespace bp::trainer {
namespace {

using at::Tensor;
using device::ModelKernels;

DataType number_of(const Tensor& x) {
  if (x.scalar_type() == at::kBFloat16) return DataType::bf16;
  return x.scalar_type() == at::kHalf ? DataType::f16 : DataType::f32;
}

device::Matrix size_of(const Tensor& x) {
  return {x.numel() / x.size(-1), static_cast<int>(x.size(-1)), number_of(x)};
}

const std::int64_t* indices(const Tensor& x) { return x.const_data_ptr<std::int64_t>(); }

// The number of pieces of a matrix's rows that threads sum up side by side. It depends on the
// matrix only, so all devices get the same sums.
int pieces_for(std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t kThreads = 1 << 17;  // more than a device runs at once
  constexpr std::int64_t kPack = 8;           // numbers that a thread takes together
  const std::int64_t wanted = kThreads * kPack / std::max<std::int64_t>(1, width);
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, rows)));
}

Tensor sums_for(const Tensor& like, int pieces, std::int64_t width) {
  return at::empty({pieces, width}, like.options().dtype(at::kFloat));
}

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
device::Drop token_drop(const Dropout& dropout, const Layout& layout) {
  device::Drop drop = without_rows(dropout, layout);
  const Tensor& samples = layout.on_device->sample_of_token;
  drop.samples = indices(samples);
  drop.places = indices(layout.on_device->place_of_token);
  drop.known_samples = samples.numel();
  return drop;
}

// For rows of attention probabilities.
device::Drop attention_drop(const Dropout& dropout,
                            const Layout& layout,
                            const Heads& heads,
                            int queries) {
  device::Drop drop = without_rows(dropout, layout);
  drop.samples = indices(layout.on_device->samples);
  drop.known_samples = layout.rows;
  drop.heads = heads.count;
  drop.queries = queries;
  return drop;
}

device::Heads heads_of(const Layout& layout,
                       const Heads& heads,
                       const Parts& parts,
                       const Tensor& rows) {
  BP_CHECK(parts.lengths.size() <= device::kMostParts, "more parts than queries, keys and values");
  device::Heads result;
  result.number = number_of(rows);
  result.samples = layout.rows;
  result.tokens = layout.tokens;
  result.longest = layout.longest;
  result.parts = static_cast<int>(parts.lengths.size());
  result.heads = heads.count;
  result.head_size = heads.size;
  for (std::size_t p = 0; p < parts.lengths.size(); ++p) {
    result.length[p] = parts.lengths[p];
    result.matrices[p] = parts.matrices[p].data_ptr();
  }
  result.rows = rows.data_ptr();
  result.first_only = are_first_only(layout, parts, rows);
  result.firsts = indices(layout.on_device->firsts);
  result.lengths = indices(layout.on_device->lengths);
  result.padded = indices(layout.on_device->padded_of_token);
  return result;
}

class DevicePasses : public Passes {
 public:
  explicit DevicePasses(const ModelKernels& kernels) : kernels_(kernels) {}

  [[nodiscard]] Tensor embed(const Layout& layout,
                             const Tensor& token_ids,
                             const Tensor& token_types,
                             const EmbedTables& tables,
                             at::ScalarType number) const override {
    const std::int64_t width = tables.word.size(1);
    Tensor out = at::empty({layout.tokens, width}, tables.word.options().dtype(number));
    device::Embed e;
    e.size = size_of(out);
    e.out = out.data_ptr();
    e.ids = indices(token_ids);
    e.places = indices(layout.on_device->place_of_token);
    e.types = indices(token_types);
    e.words = data<float>(tables.word);
    e.positions = data<float>(tables.position);
    e.kinds = data<float>(tables.type);
    e.known_words = tables.word.size(0);
    e.known_positions = tables.position.size(0);
    e.known_types = tables.type.size(0);
    run(kernels_.embed, "embed", e, out);
    return out;
  }

  [[nodiscard]] EmbedGradients embed_backward(const Layout& layout,
                                              const Tensor& token_ids,
                                              const Tensor& token_types,
                                              const Tensor& d_out,
                                              const EmbedSizes& sizes) const override {
    BP_CHECK(!sizes.sparse_words, "a sparse gradient on a device");
    const std::int64_t width = d_out.size(1);
    const int pieces = pieces_for(layout.tokens, width);
    const Tensor types = sums_for(d_out, pieces, sizes.types * width);
    EmbedGradients result;
    result.word = at::embedding_dense_backward(d_out, token_ids, sizes.words, /*padding_idx=*/-1,
                                               /*scale_grad_by_freq=*/false);
    result.position = at::zeros({sizes.positions, width}, d_out.options());
    device::EmbedBackward e;
    e.tokens = layout.tokens;
    e.samples = layout.rows;
    e.width = static_cast<int>(width);
    e.longest = static_cast<int>(std::min<std::int64_t>(layout.longest, sizes.positions));
    e.d = data<float>(d_out);
    e.positions = data<float>(result.position);
    e.types = data<float>(types);
    e.known_types = static_cast<int>(sizes.types);
    e.pieces = pieces;
    e.type = indices(token_types);
    e.firsts = indices(layout.on_device->firsts);
    e.lengths = indices(layout.on_device->lengths);
    run(kernels_.embed_backward, "embed_backward", e, d_out);
    result.type = at::sum(types, {0}).view({sizes.types, width});
    return result;
  }

  [[nodiscard]] Tensor gelu(const Tensor& x, const Tensor& bias) const override {
    Tensor y = at::empty_like(x);
    run(kernels_.gelu, "gelu",
        device::Gelu{size_of(x), y.data_ptr(), x.const_data_ptr(), data<float>(bias)}, x);
    return y;
  }
  [[nodiscard]] std::pair<Tensor, Tensor> gelu_backward(const Tensor& dy,
                                                        const Tensor& x,
                                                        const Tensor& bias) const override {
    Tensor dx = at::empty_like(x);
    const int pieces = pieces_for(x.size(0), x.size(1));
    const Tensor sums = sums_for(x, pieces, x.size(1));
    run(kernels_.gelu_backward, "gelu_backward",
        device::GeluBackward{size_of(x), dx.data_ptr(), data<float>(sums), pieces,
                             dy.const_data_ptr(), x.const_data_ptr(), data<float>(bias)},
        x);
    return {dx, at::sum(sums, {0})};
  }

  [[nodiscard]] Normed add_norm(const Layout& layout,
                                const Tensor& x,
                                const Tensor& bias,
                                const Tensor& residual,
                                const Norm& norm,
                                const Dropout& dropout) const override {
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
    n.drop = token_drop(dropout, layout);
    run(kernels_.add_norm, "add_norm", n, x);
    return result;
  }

  [[nodiscard]] NormGradients add_norm_backward(const Layout& layout,
                                                const Tensor& dy,
                                                const Normed& normed,
                                                const Tensor& gamma,
                                                bool has_bias,
                                                const Dropout& dropout) const override {
    const Tensor& z = normed.z;
    const std::int64_t width = z.size(1);
    device::AddNormBackward n;
    n.drop = token_drop(dropout, layout);
    const Tensor dz = at::empty_like(z);
    const Tensor dx = n.drop.threshold != 0 ? at::empty_like(z) : dz;
    n.pieces = pieces_for(z.size(0), width);
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
    run(kernels_.add_norm_backward, "add_norm_backward", n, z);
    const Tensor all = at::sum(sums, {0});
    return {dz, dx, all.slice(0, 0, width), all.slice(0, width, 2 * width),
            has_bias ? all.slice(0, 2 * width) : Tensor()};
  }

  [[nodiscard]] Tensor drop(const Layout& layout,
                            const Tensor& x,
                            const Dropout& dropout) const override {
    Tensor y = at::empty_like(x);
    run(kernels_.drop, "drop",
        device::DropRows{size_of(x), y.data_ptr(), x.const_data_ptr(), token_drop(dropout, layout)},
        x);
    return y;
  }

  [[nodiscard]] Parts split(const Layout& layout,
                            const Heads& heads,
                            const Tensor& x,
                            const Tensor& bias,
                            std::vector<int> lengths) const override {
    Parts parts = empty_parts(layout, heads, x, std::move(lengths));
    run(kernels_.split_heads, "split_heads",
        device::SplitHeads{heads_of(layout, heads, parts, x), data<float>(bias)}, x);
    return parts;
  }

  [[nodiscard]] Tensor merge(const Layout& layout,
                             const Heads& heads,
                             const Parts& parts,
                             Tensor* bias_sum) const override {
    Tensor x = empty_rows(layout, heads, parts);
    const std::int64_t rows = x.size(0);
    const std::int64_t width = x.size(1);
    device::MergeHeads m;
    m.heads = heads_of(layout, heads, parts, x);
    m.pieces = pieces_for(rows, width);
    Tensor sums;
    if (bias_sum != nullptr) sums = sums_for(x, m.pieces, width);
    m.sums = data<float>(sums);
    run(kernels_.merge_heads, "merge_heads", m, x);
    if (bias_sum != nullptr) *bias_sum = at::sum(sums, {0});
    return x;
  }

  [[nodiscard]] Tensor softmax(const Layout& layout,
                               const Heads& heads,
                               const Tensor& scores,
                               float scale,
                               const Dropout& dropout) const override {
    device::Softmax s;
    s.queries = static_cast<int>(scores.size(1));
    s.drop = attention_drop(dropout, layout, heads, s.queries);
    Tensor dropped = s.drop.threshold != 0 ? at::empty_like(scores) : scores;
    s.size = size_of(scores);
    s.p = scores.data_ptr();
    s.dropped = s.drop.threshold != 0 ? dropped.data_ptr() : nullptr;
    s.scores = scores.const_data_ptr();
    s.lengths = indices(layout.on_device->lengths);
    s.heads = heads.count;
    s.scale = scale;
    run(kernels_.softmax, "softmax", s, scores);
    return dropped;
  }

  void softmax_backward(const Layout& layout,
                        const Heads& heads,
                        const Tensor& p,
                        const Tensor& dropped,
                        const Tensor& d,
                        float scale) const override {
    device::SoftmaxBackward s;
    s.size = size_of(p);
    s.d_scores = d.data_ptr();
    s.p = p.const_data_ptr();
    s.dropped = dropped.const_data_ptr();
    s.d_dropped = d.const_data_ptr();
    s.lengths = indices(layout.on_device->lengths);
    s.heads = heads.count;
    s.queries = static_cast<int>(p.size(1));
    s.scale = scale;
    run(kernels_.softmax_backward, "softmax_backward", s, p);
  }

 private:
  template <class Arguments>
  void run(ModelKernels::Code (*kernel)(const Arguments&, ModelKernels::Stream),
           const char* name,
           const Arguments& arguments,
           const Tensor& x) const {
    const c10::impl::VirtualGuardImpl guard(x.device().type());
    const ModelKernels::Code code = kernel(arguments, guard.getStream(x.device()).native_handle());
    if (code == 0) return;
    throw Error(ErrorCode::io,
                code == ModelKernels::kUnsupported
                    ? concat("the device has no ", name, " for rows of ", x.size(-1), " numbers")
                    : concat("error ", code, " of CUDA at the start of ", name));
  }

  const ModelKernels& kernels_;
};

}  // namespace

const Passes& device_passes() {
  static const DevicePasses kPasses(device::model_kernels());
  return kPasses;
}

}  // namespace bp::trainer
