// The interface of libbp_model_cuda.so, which holds the trainer's code for CUDA devices: what the
// encoder computes between two matrix products, each in one or two passes over memory. The host has
// the same table (trainer/model/passes/host_passes.cc), whose functions return when the work is
// done and add to sums, which are 0 before.
//
// Each function adds work to `stream` of the current device and returns at once, with CUDA's error
// code. Memory is the device's. Matrices are contiguous, of fp32, bf16 or fp16 (`number`); biases,
// norms' parameters and sums are fp32. All arithmetic is in fp32. Results do not depend on the
// device's number of processors. Dropout drops the same elements as on the host.
//
// Threads: any.
#pragma once

#include <cstdint>

#include "bp/types.h"

namespace bp::trainer::device {

// What decides which elements a matrix loses: see kernels::DropoutRow. Row r of a matrix of tokens
// belongs to the sample samples[r] and is its token places[r]. If `heads` is not 0, the matrix has
// attention probabilities, [rows, heads, queries] rows of them: `samples` is then by sample, and
// `places` null.
struct Drop {
  std::uint32_t key[2] = {0, 0};
  std::uint32_t site = 0;
  std::uint32_t threshold = 0;  // 0: nothing is dropped
  float scale = 1;
  const std::int64_t* samples = nullptr;
  const std::int64_t* places = nullptr;
  std::int64_t known_samples = 0;  // elements of `samples`
  int heads = 0;
  int queries = 0;
};

struct Matrix {
  std::int64_t rows = 0;
  int width = 0;
  DataType number = DataType::f32;
};

// out = word[id] + position[place] + type[type], by token.
struct Embed {
  Matrix size;
  void* out = nullptr;
  const std::int64_t* ids = nullptr;
  const std::int64_t* places = nullptr;
  const std::int64_t* types = nullptr;
  const float* words = nullptr;      // [known_words, width]
  const float* positions = nullptr;  // [known_positions, width]
  const float* kinds = nullptr;      // of types: [known_types, width]
  std::int64_t known_words = 0;
  std::int64_t known_positions = 0;
  std::int64_t known_types = 0;
  std::int64_t tokens = 0;  // on the host: rows behind them are set to 0
};

// The gradients of the tables of positions and types: sums of `d`, fp32 [tokens, width]. Positions
// that no token has are not written.
struct EmbedBackward {
  std::int64_t tokens = 0;
  std::int64_t samples = 0;
  int width = 0;
  int longest = 1;
  const float* d = nullptr;
  float* positions = nullptr;  // [longest, width]
  float* types = nullptr;      // [pieces, known_types, width]
  int known_types = 1;
  int pieces = 1;
  const std::int64_t* type = nullptr;     // [tokens]
  const std::int64_t* firsts = nullptr;   // [samples], where each sample's tokens begin
  const std::int64_t* lengths = nullptr;  // [samples]
  // On the host also that of the table of words: the sums' rows, and each token's row.
  float* words = nullptr;
  const std::int64_t* ids = nullptr;
  const std::int64_t* places = nullptr;  // on the host, of each token in the table of positions
};

// z = residual + dropout(x + bias); y = gamma * (z - mean) * rstd + beta. bias and residual may be
// null.
struct AddNorm {
  Matrix size;
  void* z = nullptr;
  void* y = nullptr;
  float* mean = nullptr;  // [rows]
  float* rstd = nullptr;  // [rows]
  const void* x = nullptr;
  const float* bias = nullptr;
  const void* residual = nullptr;
  const float* gamma = nullptr;
  const float* beta = nullptr;
  float epsilon = 0;
  Drop drop;
};

// dz: the gradient of z and so of the residual. dx: that of x and so of the bias; without dropout
// null, since it is dz.
struct AddNormBackward {
  Matrix size;
  void* dz = nullptr;
  void* dx = nullptr;
  float* sums = nullptr;  // [pieces, 3, width]: gamma's, beta's and the bias's
  int pieces = 1;
  const void* dy = nullptr;
  const void* z = nullptr;
  const float* mean = nullptr;
  const float* rstd = nullptr;
  const float* gamma = nullptr;
  Drop drop;
  bool has_bias = true;  // on the host: the bias's sums are wanted
};

// y = gelu(x + bias), with erf or by_tanh.
struct Gelu {
  Matrix size;
  void* y = nullptr;
  const void* x = nullptr;
  const float* bias = nullptr;
  bool by_tanh = false;
};
struct GeluBackward {
  Matrix size;
  void* dx = nullptr;
  float* sums = nullptr;  // [pieces, width], the bias's
  int pieces = 1;
  const void* dy = nullptr;
  const void* x = nullptr;
  const float* bias = nullptr;
  bool by_tanh = false;
};

struct DropRows {
  Matrix size;
  void* y = nullptr;
  const void* x = nullptr;
  Drop drop;
};

// p = softmax(scale * scores) over the columns that are tokens of the sample, 0 in the others, and
// in the rows of queries that are none; dropped = dropout(p). `p` may be `scores`. Without dropout
// `dropped` is null.
struct Softmax {
  Matrix size;  // rows: samples * heads * queries
  void* p = nullptr;
  void* dropped = nullptr;
  const void* scores = nullptr;
  const std::int64_t* lengths = nullptr;  // [samples]
  int heads = 1;
  int queries = 1;
  float scale = 1;
  Drop drop;
};
// Computes the scores' gradient from that of `dropped`, which it may overwrite. Without dropout,
// `dropped` is `p`.
struct SoftmaxBackward {
  Matrix size;
  void* d_scores = nullptr;
  const void* p = nullptr;
  const void* dropped = nullptr;
  const void* d_dropped = nullptr;
  const std::int64_t* lengths = nullptr;
  int heads = 1;
  int queries = 1;
  float scale = 1;
};

// Tokens' rows [tokens, parts, heads, head_size], and for each part matrices of one head each,
// [samples * heads, length[part], head_size], which have zeros behind a sample's last token. A part
// of length 1 has each sample's first token only.
inline constexpr int kMostParts = 3;
struct Heads {
  DataType number = DataType::f32;
  std::int64_t samples = 0;
  std::int64_t tokens = 0;
  int longest = 1;
  int parts = 1;
  int heads = 1;
  int head_size = 1;
  int length[kMostParts] = {0, 0, 0};
  void* matrices[kMostParts] = {nullptr, nullptr, nullptr};
  void* rows = nullptr;
  bool first_only = false;                // `rows` has only the samples' first tokens
  const std::int64_t* firsts = nullptr;   // [samples], where each sample's tokens begin
  const std::int64_t* lengths = nullptr;  // [samples]
  const std::int64_t* padded = nullptr;   // [tokens]: sample * longest + place
};
// Fills the matrices from rows + bias. `bias` may be null.
struct SplitHeads {
  Heads heads;
  const float* bias = nullptr;
};
// The reverse. `sums`, [pieces, parts * heads * head_size], gets the sums over the tokens; it may
// be null.
struct MergeHeads {
  Heads heads;
  float* sums = nullptr;
  int pieces = 1;
  std::int64_t filled = 0;  // on the host: rows behind the tokens, up to these, are set to 0
};

struct ModelKernels {
  using Code = int;
  using Stream = void*;

  static constexpr int kVersion = 3;
  // The function has nothing for rows of this width. The widest are 4096 numbers, and 1024 of
  // softmax.
  static constexpr Code kUnsupported = -1;

  int version = 0;
  Code (*embed)(const Embed&, Stream) = nullptr;
  Code (*embed_backward)(const EmbedBackward&, Stream) = nullptr;
  Code (*add_norm)(const AddNorm&, Stream) = nullptr;
  Code (*add_norm_backward)(const AddNormBackward&, Stream) = nullptr;
  Code (*gelu)(const Gelu&, Stream) = nullptr;
  Code (*gelu_backward)(const GeluBackward&, Stream) = nullptr;
  Code (*drop)(const DropRows&, Stream) = nullptr;
  Code (*softmax)(const Softmax&, Stream) = nullptr;
  Code (*softmax_backward)(const SoftmaxBackward&, Stream) = nullptr;
  Code (*split_heads)(const SplitHeads&, Stream) = nullptr;
  Code (*merge_heads)(const MergeHeads&, Stream) = nullptr;
};

// The function that the library exports.
using ModelKernelsEntry = const ModelKernels*();
inline constexpr const char* kModelKernelsEntry = "bp_model_kernels";

}  // namespace bp::trainer::device
