#include "trainer/model/onnx_encoder.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "base/text.h"
#include "trainer/model/families/family.h"
#include "trainer/model/relative_bias.h"

namespace bp::trainer {
namespace {

using Value = OnnxGraph::Value;
using List = std::vector<std::int64_t>;

// Returns what to add to the scores of a key: 0 for a token, the lowest number for padding,
// [batch, 1, 1, sequence].
Value padding_scores(OnnxGraph& graph, const Value& mask) {
  const Value wide = graph.add("Unsqueeze", {mask, graph.constant(List{1, 2})});
  const Value is_padding = graph.add("Sub", {graph.constant(1.0F), graph.to_float(wide)});
  return graph.add("Mul", {is_padding, graph.constant(std::numeric_limits<float>::lowest())});
}

// Returns what to add to the scores of each query and key for their distance: [1, heads, sequence,
// sequence].
Value relative_scores(OnnxGraph& graph, const EncoderSpec& spec, const Value& ids) {
  const auto scalar = [&](std::int64_t value) {
    return graph.add("Squeeze", {graph.constant(List{value})});
  };
  const Value length = graph.add("Gather", {graph.add("Shape", {ids}), scalar(1)});
  const Value places = graph.add("Range", {scalar(0), length, scalar(1)});
  const Value distances =
      graph.add("Sub", {graph.add("Unsqueeze", {places, graph.constant(List{0})}),
                        graph.add("Unsqueeze", {places, graph.constant(List{1})})});
  List buckets;
  for (int d = -kFarthest; d <= kFarthest; ++d) buckets.push_back(relative_bucket(d));
  const Value near = graph.add("Clip", {distances, scalar(-kFarthest), scalar(kFarthest)});
  const Value numbers =
      graph.add("Gather", {graph.constant(buckets), graph.add("Add", {near, scalar(kFarthest)})});
  const WeightNames& names = names_of(spec);
  const Value by_head = graph.add(
      "Transpose", {graph.embedding(names.prefix + names.relative_bias + ".weight", numbers)},
      {{"perm", List{2, 0, 1}}});
  return graph.add("Unsqueeze", {by_head, graph.constant(List{0})});
}

// Returns the positions of a family that counts them from the padding token's id, i64 [batch,
// sequence].
Value positions_after(OnnxGraph& graph, const EncoderSpec& spec, const Value& ids) {
  const Value pad = graph.constant(List{spec.pad_id});
  const Value is_pad = graph.add("Equal", {ids, pad});
  const Value counts = graph.add("Cast", {graph.add("Not", {is_pad})},
                                 {{"to", static_cast<std::int64_t>(OnnxGraph::Type::i64)}});
  const Value numbers = graph.add("CumSum", {counts, graph.constant(List{1})});
  return graph.add("Add", {graph.add("Mul", {numbers, counts}), pad});
}

// Returns what each token's position adds to its embedding.
Value position_rows(OnnxGraph& graph, const EncoderSpec& spec, const Value& ids) {
  const WeightNames& names = names_of(spec);
  const std::string table = names.prefix + names.positions + ".weight";
  if (spec.positions_from_pad) return graph.embedding(table, positions_after(graph, spec, ids));
  const Value length = graph.add("Gather", {graph.add("Shape", {ids}), graph.constant(List{1})});
  return graph.add(
      "Slice", {graph.parameter(table), graph.constant(List{0}), length, graph.constant(List{0})});
}

// `types`: the input of token types, if the model has several.
Value embeddings(OnnxGraph& graph, const EncoderSpec& spec, const Value& ids, const Value& types) {
  const WeightNames& names = names_of(spec);
  const auto table = [&](const std::string& name) { return names.prefix + name + ".weight"; };
  const Value positions = position_rows(graph, spec, ids);
  const Value words = graph.embedding(table(names.words), ids);
  Value sum = words;
  if (!names.types.empty()) {
    const Value kinds = spec.has_types() ? graph.embedding(table(names.types), types)
                                         : graph.parameter(table(names.types));
    sum = graph.add("Add", {words, kinds});
  }
  sum = graph.add("Add", {sum, positions});
  const Value x = graph.layer_norm(sum, names.prefix + names.embedding_norm, spec.norm_epsilon);
  if (!spec.has_projection()) return x;
  return graph.linear(x, names.prefix + names.projection);
}

// `added`: to the scores.
Value attention(OnnxGraph& graph,
                const EncoderSpec& spec,
                const std::string& layer,
                const Value& x,
                const Value& added) {
  const std::int64_t heads = spec.heads;
  const std::int64_t size = spec.hidden / heads;
  const std::vector<Value> parts =
      graph.add_many("Split",
                     {graph.linear(x, layer + names_of(spec).merged_qkv),
                      graph.constant(List{spec.hidden, spec.hidden, spec.hidden})},
                     {{"axis", std::int64_t{2}}}, 3);
  const auto by_head = [&](const Value& part, const List& order) {
    const Value cut = graph.add("Reshape", {part, graph.constant(List{0, 0, heads, size})});
    return graph.add("Transpose", {cut}, {{"perm", order}});
  };
  const List kTokens = {0, 2, 1, 3};
  const List kTransposed = {0, 2, 3, 1};
  const Value products =
      graph.add("MatMul", {by_head(parts[0], kTokens), by_head(parts[1], kTransposed)});
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
  const Value scores =
      graph.add("Add", {graph.add("Mul", {products, graph.constant(scale)}), added});
  const Value shares = graph.add("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const Value mixed = graph.add("MatMul", {shares, by_head(parts[2], kTokens)});
  const Value tokens = graph.add("Transpose", {mixed}, {{"perm", kTokens}});
  return graph.add("Reshape", {tokens, graph.constant(List{0, 0, spec.hidden})});
}

// sqrt(2 / pi) * (x + 0.044715 x^3)
Value argument_of_tanh(OnnxGraph& graph, const Value& x) {
  const Value square = graph.add("Mul", {graph.add("Mul", {x, x}), graph.constant(0.044715F)});
  const Value factor = graph.add("Add", {square, graph.constant(1.0F)});
  const Value root = graph.constant(0.797884561F);
  return graph.add("Mul", {graph.add("Mul", {x, factor}), root});
}

// x * (1 + erf(x / sqrt(2))) / 2, or the approximation of erf() by tanh().
Value gelu(OnnxGraph& graph, const Value& x, Activation form = Activation::gelu) {
  const auto root = std::numbers::sqrt2_v<float>;
  const Value error = form == Activation::gelu_tanh
                          ? graph.add("Tanh", {argument_of_tanh(graph, x)})
                          : graph.add("Erf", {graph.add("Div", {x, graph.constant(root)})});
  const Value factor = graph.add("Add", {error, graph.constant(1.0F)});
  return graph.add("Mul", {graph.add("Mul", {x, factor}), graph.constant(0.5F)});
}

}  // namespace

Value add_encoder(OnnxGraph& graph, const EncoderSpec& spec) {
  const std::vector<OnnxGraph::Axis> axes = {"batch", "sequence"};
  const Value ids = graph.input("input_ids", OnnxGraph::Type::i64, axes);
  const Value mask = graph.input("attention_mask", OnnxGraph::Type::i64, axes);
  const Value types =
      spec.has_types() ? graph.input("token_type_ids", OnnxGraph::Type::i64, axes) : Value();
  Value added = padding_scores(graph, mask);
  if (spec.relative_bias) added = graph.add("Add", {added, relative_scores(graph, spec, ids)});
  Value x = embeddings(graph, spec, ids, types);
  const WeightNames& names = names_of(spec);
  for (int i = 0; i < spec.layers; ++i) {
    const std::string layer = names.layer(spec.shares_layers ? 0 : i);
    const Value attended =
        graph.linear(attention(graph, spec, layer, x, added), layer + names.attention_output);
    x = graph.layer_norm(graph.add("Add", {attended, x}), layer + names.attention_norm,
                         spec.norm_epsilon);
    const Value wide = gelu(graph, graph.linear(x, layer + names.intermediate), spec.activation);
    x = graph.layer_norm(graph.add("Add", {graph.linear(wide, layer + names.output), x}),
                         layer + names.output_norm, spec.norm_epsilon);
  }
  return x;
}

Value add_pooler(OnnxGraph& graph, const EncoderSpec& spec, const Value& states) {
  const Value first =
      graph.add("Gather", {states, graph.constant(List{0})}, {{"axis", std::int64_t{1}}});
  const Value flat = graph.add("Squeeze", {first, graph.constant(List{1})});
  const Value dense = graph.linear(flat, names_of(spec).pooler);
  if (spec.pooling == Pooling::gelu) return gelu(graph, dense);
  return graph.add(spec.pooling == Pooling::relu ? "Relu" : "Tanh", {dense});
}

}  // namespace bp::trainer
