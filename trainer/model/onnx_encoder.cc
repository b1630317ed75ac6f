#include "trainer/model/onnx_encoder.h"

#include <ATen/ops/scalar_tensor.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "trainer/model/families/family.h"
#include "trainer/model/passes/rotary.h"
#include "trainer/model/relative_positions.h"

namespace bp::trainer {
namespace {

using Value = OnnxGraph::Value;
using List = std::vector<std::int64_t>;

constexpr const char* kMask = "attention_mask";

// Returns what to add to the scores of a key: 0 for a token, the lowest number for padding,
// [batch, 1, 1, sequence].
Value padding_scores(OnnxGraph& graph) {
  const Value wide = graph.add("Unsqueeze", {kMask, graph.constant(List{1, 2})});
  const Value is_padding = graph.add("Sub", {graph.constant(1.0F), graph.to_float(wide)});
  return graph.add("Mul", {is_padding, graph.constant(std::numeric_limits<float>::lowest())});
}

Value scalar(OnnxGraph& graph, std::int64_t value) {
  return graph.constant(at::scalar_tensor(value, at::kLong));
}

// Returns the places of tokens in their texts, i64 [sequence].
Value places(OnnxGraph& graph, const Value& ids) {
  const Value length = graph.add("Gather", {graph.add("Shape", {ids}), scalar(graph, 1)});
  return graph.add("Range", {scalar(graph, 0), length, scalar(graph, 1)});
}

// Returns how far each key is behind each query, i64 [sequence, sequence].
Value distances_of(OnnxGraph& graph, const Value& places) {
  return graph.add("Sub", {graph.add("Unsqueeze", {places, graph.constant(List{0})}),
                           graph.add("Unsqueeze", {places, graph.constant(List{1})})});
}

// Returns the rows of the table for the distances of each query and key, i64 [sequence, sequence].
// Those beyond the longest text are as its longest.
Value rows_of_pairs(OnnxGraph& graph, const EncoderSpec& spec, const Value& distances) {
  const int farthest = spec.max_tokens() - 1;
  List rows;
  for (int d = -farthest; d <= farthest; ++d) rows.push_back(distance_row(spec, d));
  const Value near =
      graph.add("Clip", {distances, scalar(graph, -farthest), scalar(graph, farthest)});
  return graph.add("Gather",
                   {graph.constant(rows), graph.add("Add", {near, scalar(graph, farthest)})});
}

// Returns what to add to the scores of each query and key for their distance: [1, heads, sequence,
// sequence].
Value relative_scores(OnnxGraph& graph, const EncoderSpec& spec, const Value& distances) {
  const Value numbers = rows_of_pairs(graph, spec, distances);
  const WeightNames& names = names_of(spec);
  const Value by_head =
      graph.add("Transpose", {graph.embedding(names.prefix + names.relative + ".weight", numbers)},
                {{"perm", List{2, 0, 1}}});
  return graph.add("Unsqueeze", {by_head, graph.constant(List{0})});
}

// As padding_scores(), and with the lowest number for keys whose distance is above `most`, [batch,
// 1, sequence, sequence].
Value near_scores(OnnxGraph& graph, const Value& padding, const Value& distances, int most) {
  const Value far = graph.add("Greater", {distances, graph.constant(List{most})});
  const Value lowest = graph.constant(std::numeric_limits<float>::lowest());
  return graph.add("Min", {padding, graph.add("Mul", {graph.to_float(far), lowest})});
}

// The cosines and sines of the angles by which rotary positions turn pairs of numbers.
struct RotationValues {
  Value cosines;  // [sequence, 1, size / 2]
  Value sines;
};
RotationValues rotation_by(OnnxGraph& graph, const Value& places, double base, std::int64_t size) {
  const Value column = graph.add("Unsqueeze", {graph.to_float(places), graph.constant(List{1, 2})});
  const Value angles = graph.add("Mul", {column, graph.constant(rotary_angles(base, size))});
  return {.cosines = graph.add("Cos", {angles}), .sines = graph.add("Sin", {angles})};
}

// x: [batch, sequence, heads, size]
Value rotated(OnnxGraph& graph, const Value& x, const RotationValues& by) {
  const auto times = [&](const Value& a, const Value& b) { return graph.add("Mul", {a, b}); };
  const std::vector<Value> halves = graph.add_many("Split", {x}, {{"axis", std::int64_t{3}}}, 2);
  const Value a = graph.add("Sub", {times(halves[0], by.cosines), times(halves[1], by.sines)});
  const Value b = graph.add("Add", {times(halves[1], by.cosines), times(halves[0], by.sines)});
  return graph.add("Concat", {a, b}, {{"axis", std::int64_t{3}}});
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

// Returns what each token's position adds to its embedding. `table`: the parameter's name.
Value position_rows(OnnxGraph& graph,
                    const EncoderSpec& spec,
                    const std::string& table,
                    const Value& ids) {
  if (spec.positions_from_pad) return graph.embedding(table, positions_after(graph, spec, ids));
  const Value first = graph.constant(List{spec.unused_positions});
  const Value length = graph.add("Gather", {graph.add("Shape", {ids}), graph.constant(List{1})});
  const Value end = graph.add("Add", {first, length});
  return graph.add("Slice", {graph.parameter(table), first, end, graph.constant(List{0})});
}

// The names of what the first layer of an encoder or a decoder reads.
struct StackNames {
  std::string positions;
  std::string norm;
};

// `types`: the input of token types, if the model has several.
Value embeddings(OnnxGraph& graph,
                 const EncoderSpec& spec,
                 const StackNames& stack,
                 const Value& ids,
                 const Value& types) {
  const WeightNames& names = names_of(spec);
  const auto table = [&](const std::string& name) { return names.prefix + name + ".weight"; };
  Value words = graph.embedding(table(names.words), ids);
  if (spec.scales_words) {
    const auto root = static_cast<float>(std::sqrt(static_cast<double>(spec.hidden)));
    words = graph.add("Mul", {words, graph.constant(root)});
  }
  Value sum = words;
  if (!names.types.empty()) {
    const Value kinds = spec.has_types() ? graph.embedding(table(names.types), types)
                                         : graph.parameter(table(names.types));
    sum = graph.add("Add", {words, kinds});
  }
  if (!stack.positions.empty()) {
    sum = graph.add("Add", {sum, position_rows(graph, spec, table(stack.positions), ids)});
  }
  Value x = graph.layer_norm(sum, names.prefix + stack.norm, spec.norm_epsilon);
  if (!spec.has_projection()) return x;
  return graph.linear(x, names.prefix + names.projection);
}

// Returns the token that a decoder reads first, and all but the last of the others.
Value decoder_ids(OnnxGraph& graph, const EncoderSpec& spec, const Value& ids) {
  const auto columns = [&](std::int64_t end) {
    const Value from = graph.constant(List{0});
    return graph.add("Slice", {ids, from, graph.constant(List{end}), graph.constant(List{1})});
  };
  const Value zeros = graph.add("Mul", {columns(1), graph.constant(List{0})});
  const Value start = graph.add("Add", {zeros, graph.constant(List{spec.start_id})});
  return graph.add("Concat", {start, columns(-1)}, {{"axis", std::int64_t{1}}});
}

// The rows for the distances of tokens in disentangled attention.
struct DistanceValues {
  Value table;     // normed, [1, rows, hidden]
  Value of_pairs;  // i64 [sequence, sequence]
};
DistanceValues rows_in(OnnxGraph& graph, const EncoderSpec& spec, const Value& distances) {
  const WeightNames& names = names_of(spec);
  const Value table = graph.layer_norm(graph.parameter(names.prefix + names.relative + ".weight"),
                                       names.prefix + names.relative_norm, spec.norm_epsilon);
  return {.table = graph.add("Unsqueeze", {table, graph.constant(List{0})}),
          .of_pairs = rows_of_pairs(graph, spec, distances)};
}

// Returns the products of `x` with the rows for the distances of pairs, [batch, heads, sequence,
// sequence]. `rows`: transposed.
Value products_of_pairs(OnnxGraph& graph, const Value& x, const Value& rows, const Value& pairs) {
  const Value products = graph.add("MatMul", {x, rows});
  const Value sizes = graph.add("Shape", {products}, {{"end", std::int64_t{2}}});
  const Value all =
      graph.add("Concat", {sizes, graph.add("Shape", {pairs})}, {{"axis", std::int64_t{0}}});
  return graph.add("GatherElements", {products, graph.add("Expand", {pairs, all})},
                   {{"axis", std::int64_t{3}}});
}

// The scores, the rotation and the distances by which the attention of a layer weighs tokens.
struct Seen {
  Value scores;  // what to add to those of each key
  std::optional<RotationValues> rotation = {};
  std::optional<DistanceValues> distances = {};
  // For a decoder's layer: the states of the encoder, and what to add to the scores of each.
  Value encoded = {};
  Value encoded_scores = {};
};

// `parts`: queries, keys and values. `rows`: those of seen.distances.
Value attention(OnnxGraph& graph,
                const EncoderSpec& spec,
                const std::vector<Value>& parts,
                const Seen& seen,
                const std::vector<Value>& rows = {}) {
  const std::int64_t heads = spec.heads;
  const std::int64_t size = spec.hidden / heads;
  const auto cut_heads = [&](const Value& part) {
    return graph.add("Reshape", {part, graph.constant(List{0, 0, heads, size})});
  };
  const auto by_head = [&](std::size_t part, const List& order) {
    Value cut = cut_heads(parts[part]);
    if (seen.rotation && part < 2) cut = rotated(graph, cut, *seen.rotation);
    return graph.add("Transpose", {cut}, {{"perm", order}});
  };
  const List heads_first = {0, 2, 1, 3};
  const List transposed = {0, 2, 3, 1};
  Value products = graph.add("MatMul", {by_head(0, heads_first), by_head(1, transposed)});
  if (seen.distances) {
    const auto with = [&](std::size_t part, const Value& pairs) {
      const Value row = graph.add("Transpose", {cut_heads(rows[1 - part])}, {{"perm", transposed}});
      return products_of_pairs(graph, by_head(part, heads_first), row, pairs);
    };
    const Value& pairs = seen.distances->of_pairs;
    const Value of_keys = with(1, graph.add("Transpose", {pairs}, {{"perm", List{1, 0}}}));
    products = graph.add("Add", {products, with(0, pairs)});
    products = graph.add(
        "Add", {products, graph.add("Transpose", {of_keys}, {{"perm", List{0, 1, 3, 2}}})});
  }
  const float scale =
      score_scale({.size = static_cast<int>(size), .disentangled = seen.distances.has_value()});
  const Value scores =
      graph.add("Add", {graph.add("Mul", {products, graph.constant(scale)}), seen.scores});
  const Value shares = graph.add("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const Value mixed = graph.add("MatMul", {shares, by_head(2, heads_first)});
  const Value tokens = graph.add("Transpose", {mixed}, {{"perm", heads_first}});
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

// Returns what the layer's first product makes of `x`.
Value widened(OnnxGraph& graph, const EncoderSpec& spec, const std::string& layer, const Value& x) {
  const Value wide = graph.linear(x, layer + names_of(spec).intermediate);
  if (!spec.gated) return gelu(graph, wide, spec.activation);
  const std::vector<Value> halves = graph.add_many("Split", {wide}, {{"axis", std::int64_t{2}}}, 2);
  return graph.add("Mul", {gelu(graph, halves[0]), halves[1]});
}

Value layer_of(OnnxGraph& graph,
               const EncoderSpec& spec,
               const std::string& layer,
               const Value& x,
               const Seen& seen) {
  const WeightNames& names = names_of(spec);
  const auto norm = [&](const Value& y, const std::string& name) {
    return graph.has(layer + name + ".weight")
               ? graph.layer_norm(y, layer + name, spec.norm_epsilon)
               : y;
  };
  const auto before = [&](const Value& y, const std::string& name) {
    return spec.pre_norm ? norm(y, name) : y;
  };
  const auto after = [&](const Value& y, const std::string& name) {
    return spec.pre_norm ? y : norm(y, name);
  };
  const auto linear = [&](const Value& y, const std::string& name) {
    return graph.linear(y, layer + name);
  };
  const auto qkv = [&](const Value& y) {
    return graph.add_many(
        "Split",
        {linear(y, names.merged_qkv), graph.constant(List{spec.hidden, spec.hidden, spec.hidden})},
        {{"axis", std::int64_t{2}}}, 3);
  };
  std::vector<Value> rows;
  if (seen.distances) rows = qkv(seen.distances->table);
  const Value mixed = attention(graph, spec, qkv(before(x, names.attention_norm)), seen, rows);
  Value attended =
      after(graph.add("Add", {linear(mixed, names.attention_output), x}), names.attention_norm);
  if (!seen.encoded.empty()) {
    const Value found =
        attention(graph, spec,
                  {linear(attended, names.cross_qkv[0]), linear(seen.encoded, names.cross_qkv[1]),
                   linear(seen.encoded, names.cross_qkv[2])},
                  {.scores = seen.encoded_scores});
    attended =
        norm(graph.add("Add", {linear(found, names.cross_output), attended}), names.cross_norm);
  }
  const Value wide = widened(graph, spec, layer, before(attended, names.output_norm));
  return after(graph.add("Add", {linear(wide, names.output), attended}), names.output_norm);
}

// Returns the state of each text that the pooler reads.
Value text_states(OnnxGraph& graph, const EncoderSpec& spec, const Value& states) {
  const Value axis = graph.constant(List{1});
  if (spec.has_decoder()) {
    const Value lengths = graph.add("ReduceSum", {kMask, axis}, {{"keepdims", std::int64_t{1}}});
    return graph.add("GatherND", {states, graph.add("Sub", {lengths, axis})},
                     {{"batch_dims", std::int64_t{1}}});
  }
  if (spec.pools_mean) {
    const Value column = graph.add("Unsqueeze", {kMask, graph.constant(List{2})});
    const Value mask = graph.to_float(column);
    const auto sum = [&](const Value& x) {
      return graph.add("ReduceSum", {x, axis}, {{"keepdims", std::int64_t{0}}});
    };
    return graph.add("Div", {sum(graph.add("Mul", {states, mask})), sum(mask)});
  }
  const Value first =
      graph.add("Gather", {states, graph.constant(List{0})}, {{"axis", std::int64_t{1}}});
  return graph.add("Squeeze", {first, axis});
}

}  // namespace

Value add_encoder(OnnxGraph& graph, const EncoderSpec& spec) {
  const std::vector<OnnxGraph::Axis> axes = {"batch", "sequence"};
  const Value ids = graph.input("input_ids", OnnxGraph::Type::i64, axes);
  (void)graph.input(kMask, OnnxGraph::Type::i64, axes);
  const Value types =
      spec.has_types() ? graph.input("token_type_ids", OnnxGraph::Type::i64, axes) : Value();
  Seen all{.scores = padding_scores(graph)};
  Seen local = all;
  const auto distances = [&] { return distances_of(graph, places(graph, ids)); };
  if (spec.relative_bias) {
    all.scores = graph.add("Add", {all.scores, relative_scores(graph, spec, distances())});
  }
  if (spec.position_buckets > 0) all.distances = rows_in(graph, spec, distances());
  if (spec.rope_theta > 0) {
    const Value at = places(graph, ids);
    const std::int64_t size = spec.hidden / spec.heads;
    all.rotation = rotation_by(graph, at, spec.rope_theta, size);
    const Value away = graph.add("Abs", {distances_of(graph, at)});
    local.scores = near_scores(graph, all.scores, away, spec.local_attention / 2);
    local.rotation = rotation_by(graph, at, spec.local_rope_theta, size);
  }
  const WeightNames& names = names_of(spec);
  Value x = embeddings(graph, spec, {.positions = names.positions, .norm = names.embedding_norm},
                       ids, types);
  for (int i = 0; i < spec.layers; ++i) {
    if (spec.has_decoder() && i == spec.layers - spec.decoder_layers) {
      all = {.scores = near_scores(graph, all.scores, distances(), 0),
             .encoded = x,
             .encoded_scores = all.scores};
      x = embeddings(graph, spec,
                     {.positions = names.decoder_positions, .norm = names.decoder_norm},
                     decoder_ids(graph, spec, ids), types);
    }
    const bool is_local = spec.is_local(static_cast<std::size_t>(i));
    x = layer_of(graph, spec, names.layer(spec, spec.shares_layers ? 0 : i), x,
                 is_local ? local : all);
  }
  if (!spec.pre_norm) return x;
  return graph.layer_norm(x, names.prefix + names.final_norm, spec.norm_epsilon);
}

Value add_pooling(OnnxGraph& graph, const EncoderSpec& spec, const Value& states) {
  const WeightNames& names = names_of(spec);
  const Value dense = graph.linear(states, names.pooler);
  if (spec.pooling != Pooling::gelu) {
    return graph.add(spec.pooling == Pooling::relu ? "Relu" : "Tanh", {dense});
  }
  const Value y = gelu(graph, dense);
  return names.pooler_norm.empty() ? y : graph.layer_norm(y, names.pooler_norm, spec.norm_epsilon);
}

Value add_pooler(OnnxGraph& graph, const EncoderSpec& spec, const Value& states) {
  return add_pooling(graph, spec, text_states(graph, spec, states));
}

}  // namespace bp::trainer
