#include "trainer/model/onnx_encoder.h"

#include <ATen/ops/scalar_tensor.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "trainer/model/families/family.h"
#include "trainer/model/passes/rotary.h"
#include "trainer/model/relative_positions.h"

namespace bp::trainer {
namespace {

using Value = OnnxGraph::Value;
using List = std::vector<std::int64_t>;

constexpr const char* kIds = "input_ids";
constexpr const char* kMask = "attention_mask";

// The cosines and sines of the angles by which rotary positions turn pairs of numbers.
struct RotationValues {
  Value cosines;  // [sequence, 1, size / 2]
  Value sines;
};

// What the attention of a layer reads besides the states of tokens.
struct Seen {
  Value scores;  // what to add to those of each key
  std::optional<RotationValues> rotation = {};
  // In disentangled attention: the table, [1, rows, hidden], and the row of each query and key, i64
  // [sequence, sequence].
  Value distances = {};
  Value of_pairs = {};
  // For a decoder's layer: the states of the encoder, and what to add to the scores of each.
  Value encoded = {};
  Value encoded_scores = {};
};

// Adds the parts of an encoder to a graph.
class EncoderGraph {
 public:
  EncoderGraph(OnnxGraph& graph, const EncoderSpec& spec)
      : graph_(graph), spec_(spec), names_(names_of(spec)) {}

  Value encoder() {
    const std::vector<OnnxGraph::Axis> axes = {"batch", "sequence"};
    const Value ids = graph_.input(kIds, OnnxGraph::Type::i64, axes);
    (void)graph_.input(kMask, OnnxGraph::Type::i64, axes);
    if (spec_.has_types()) types_ = graph_.input("token_type_ids", OnnxGraph::Type::i64, axes);
    Seen all = seen_by_all();
    const Seen local = spec_.rope_theta > 0 ? seen_locally(all) : all;
    Value x = embeddings(ids, names_.positions, names_.embedding_norm);
    for (int i = 0; i < spec_.layers; ++i) {
      if (spec_.has_decoder() && i == spec_.layers - spec_.decoder_layers) {
        all = {.scores = near_scores(all.scores, distances(), 0),
               .encoded = x,
               .encoded_scores = all.scores};
        x = embeddings(decoder_ids(ids), names_.decoder_positions, names_.decoder_norm);
      }
      const std::string name = names_.layer(spec_, spec_.shares_layers ? 0 : i);
      x = layer(name, x, spec_.is_local(static_cast<std::size_t>(i)) ? local : all);
    }
    return spec_.pre_norm ? norm(x, names_.prefix + names_.final_norm) : x;
  }

  // Returns the state of each text that the pooler reads.
  Value text_states(const Value& states) {
    if (!spec_.has_decoder() && !spec_.pools_mean) {
      return add("Gather", {states, scalar(0)}, {{"axis", std::int64_t{1}}});
    }
    const Value axis = list({1});
    if (spec_.has_decoder()) {
      const Value lengths = add("ReduceSum", {kMask, axis}, {{"keepdims", std::int64_t{1}}});
      return add("GatherND", {states, add("Sub", {lengths, axis})},
                 {{"batch_dims", std::int64_t{1}}});
    }
    const Value mask = graph_.to_float(unsqueeze(kMask, {2}));
    const auto sum = [&](const Value& x) {
      return add("ReduceSum", {x, axis}, {{"keepdims", std::int64_t{0}}});
    };
    return add("Div", {sum(add("Mul", {states, mask})), sum(mask)});
  }

  Value pooling(const Value& states) {
    const Value dense = graph_.linear(states, names_.pooler);
    if (spec_.pooling == Pooling::tanh) return add("Tanh", {dense});
    const Value y = spec_.pooling == Pooling::relu ? add("Relu", {dense}) : gelu(dense);
    return names_.pooler_norm.empty() ? y : norm(y, names_.pooler_norm);
  }

 private:
  Value add(const char* operation,
            const std::vector<Value>& inputs,
            const std::vector<OnnxGraph::Attribute>& attributes = {}) {
    return graph_.add(operation, inputs, attributes);
  }
  Value list(const List& numbers) { return graph_.constant(numbers); }
  Value number(double value) { return graph_.constant(static_cast<float>(value)); }
  Value scalar(std::int64_t value) { return graph_.constant(at::scalar_tensor(value, at::kLong)); }
  Value unsqueeze(const Value& x, const List& axes) { return add("Unsqueeze", {x, list(axes)}); }
  Value transposed(const Value& x, const List& order) {
    return add("Transpose", {x}, {{"perm", order}});
  }
  std::vector<Value> halves(const Value& x, std::int64_t axis) {
    return graph_.add_many("Split", {x}, {{"axis", axis}}, 2);
  }
  Value norm(const Value& x, const std::string& name) {
    return graph_.layer_norm(x, name, spec_.norm_epsilon);
  }
  [[nodiscard]] std::string table(const std::string& name) const {
    return names_.prefix + name + ".weight";
  }

  // Returns the places of tokens in their texts, i64 [sequence].
  Value places() {
    const Value length = add("Gather", {add("Shape", {kIds}), scalar(1)});
    return add("Range", {scalar(0), length, scalar(1)});
  }
  // Returns how far each key is behind each query, i64 [sequence, sequence].
  Value distances() {
    const Value all = places();
    return add("Sub", {unsqueeze(all, {0}), unsqueeze(all, {1})});
  }
  // Returns the rows of the table for these distances, i64 [sequence, sequence]. Those beyond the
  // longest text are as its longest.
  Value rows_of_pairs() {
    const int farthest = spec_.max_tokens() - 1;
    List rows;
    for (int d = -farthest; d <= farthest; ++d) rows.push_back(distance_row(spec_, d));
    const Value near = add("Clip", {distances(), scalar(-farthest), scalar(farthest)});
    return add("Gather", {list(rows), add("Add", {near, scalar(farthest)})});
  }

  Seen seen_by_all() {
    // 0 for a token, the lowest number for padding, [batch, 1, 1, sequence].
    const Value is_padding = add("Sub", {number(1), graph_.to_float(unsqueeze(kMask, {1, 2}))});
    Seen seen{.scores = add("Mul", {is_padding, number(kLowest)})};
    if (spec_.rope_theta > 0) seen.rotation = rotation_by(spec_.rope_theta);
    if (!spec_.is_relative()) return seen;
    seen.of_pairs = rows_of_pairs();
    if (spec_.relative_bias) {
      const Value numbers = graph_.embedding(table(names_.relative), seen.of_pairs);
      const Value by_head = unsqueeze(transposed(numbers, {2, 0, 1}), {0});
      seen.scores = add("Add", {seen.scores, by_head});
    } else {
      const Value rows = graph_.parameter(table(names_.relative));
      seen.distances = unsqueeze(norm(rows, names_.prefix + names_.relative_norm), {0});
    }
    return seen;
  }
  Seen seen_locally(const Seen& all) {
    const Value away = add("Abs", {distances()});
    return {.scores = near_scores(all.scores, away, spec_.local_attention / 2),
            .rotation = rotation_by(spec_.local_rope_theta)};
  }
  // Returns `scores`, and the lowest number for keys whose distance is above `most`, [batch, 1,
  // sequence, sequence].
  Value near_scores(const Value& scores, const Value& away, int most) {
    const Value far = add("Greater", {away, list({most})});
    return add("Min", {scores, add("Mul", {graph_.to_float(far), number(kLowest)})});
  }

  RotationValues rotation_by(double base) {
    const Value column = unsqueeze(graph_.to_float(places()), {1, 2});
    const Value angles =
        add("Mul", {column, graph_.constant(rotary_angles(base, spec_.hidden / spec_.heads))});
    return {.cosines = add("Cos", {angles}), .sines = add("Sin", {angles})};
  }
  // x: [batch, sequence, heads, size]
  Value rotated(const Value& x, const RotationValues& by) {
    const auto times = [&](const Value& a, const Value& b) { return add("Mul", {a, b}); };
    const std::vector<Value> parts = halves(x, 3);
    const Value a = add("Sub", {times(parts[0], by.cosines), times(parts[1], by.sines)});
    const Value b = add("Add", {times(parts[1], by.cosines), times(parts[0], by.sines)});
    return add("Concat", {a, b}, {{"axis", std::int64_t{3}}});
  }

  // Returns what each token's position adds to its embedding. `name`: of the table.
  Value position_rows(const std::string& name, const Value& ids) {
    if (!spec_.positions_from_pad) {
      const Value rows = add("Add", {places(), list({spec_.unused_positions})});
      return add("Gather", {graph_.parameter(name), rows});
    }
    const Value pad = list({spec_.pad_id});
    const Value is_token = add("Not", {add("Equal", {ids, pad})});
    const Value counts =
        add("Cast", {is_token}, {{"to", static_cast<std::int64_t>(OnnxGraph::Type::i64)}});
    const Value numbers = add("CumSum", {counts, list({1})});
    return graph_.embedding(name, add("Add", {add("Mul", {numbers, counts}), pad}));
  }
  // Returns what the first layer of the encoder or of the decoder reads.
  Value embeddings(const Value& ids, const std::string& of_positions, const std::string& of_norm) {
    Value sum = graph_.embedding(table(names_.words), ids);
    const double root = std::sqrt(static_cast<double>(spec_.hidden));
    if (spec_.scales_words) sum = add("Mul", {sum, number(root)});
    if (!names_.types.empty()) {
      const std::string types = table(names_.types);
      sum = add("Add", {sum, spec_.has_types() ? graph_.embedding(types, types_)
                                               : graph_.parameter(types)});
    }
    if (!of_positions.empty()) sum = add("Add", {sum, position_rows(table(of_positions), ids)});
    const Value x = norm(sum, names_.prefix + of_norm);
    return spec_.has_projection() ? graph_.linear(x, names_.prefix + names_.projection) : x;
  }
  // Returns the token that a decoder reads first, and all but the last of the others.
  Value decoder_ids(const Value& ids) {
    const auto columns = [&](std::int64_t end) {
      return add("Slice", {ids, list({0}), list({end}), list({1})});
    };
    const Value zeros = add("Mul", {columns(1), list({0})});
    const Value start = add("Add", {zeros, list({spec_.start_id})});
    return add("Concat", {start, columns(-1)}, {{"axis", std::int64_t{1}}});
  }

  Value layer(const std::string& name, const Value& x, const Seen& seen) {
    const auto linear = [&](const Value& y, const std::string& module) {
      return graph_.linear(y, name + module);
    };
    const auto before = [&](const Value& y, const std::string& module) {
      const bool has_norm = spec_.pre_norm && graph_.has(name + module + ".weight");
      return has_norm ? norm(y, name + module) : y;
    };
    const auto sum = [&](const Value& a, const Value& b, const std::string& module) {
      const Value y = add("Add", {a, b});
      return spec_.pre_norm ? y : norm(y, name + module);
    };
    const auto qkv = [&](const Value& y) {
      return graph_.add_many(
          "Split", {linear(y, names_.merged_qkv), list({spec_.hidden, spec_.hidden, spec_.hidden})},
          {{"axis", std::int64_t{2}}}, 3);
    };
    std::vector<Value> rows;
    if (!seen.distances.empty()) rows = qkv(seen.distances);
    Value y = attention(qkv(before(x, names_.attention_norm)), seen, rows);
    Value attended = sum(linear(y, names_.attention_output), x, names_.attention_norm);
    if (!seen.encoded.empty()) {
      y = attention(
          {linear(attended, names_.cross_qkv[0]), linear(seen.encoded, names_.cross_qkv[1]),
           linear(seen.encoded, names_.cross_qkv[2])},
          {.scores = seen.encoded_scores});
      attended = sum(linear(y, names_.cross_output), attended, names_.cross_norm);
    }
    y = widened(linear(before(attended, names_.output_norm), names_.intermediate));
    return sum(linear(y, names_.output), attended, names_.output_norm);
  }

  // `parts`: queries, keys and values. `rows`: those of seen.distances.
  Value attention(const std::vector<Value>& parts,
                  const Seen& seen,
                  const std::vector<Value>& rows = {}) {
    const int size = spec_.hidden / spec_.heads;
    const List heads_first = {0, 2, 1, 3};
    const List columns = {0, 2, 3, 1};
    const auto cut_heads = [&](const Value& part) {
      return add("Reshape", {part, list({0, 0, spec_.heads, size})});
    };
    const auto by_head = [&](std::size_t part, const List& order) {
      const Value cut = cut_heads(parts[part]);
      return transposed(seen.rotation && part < 2 ? rotated(cut, *seen.rotation) : cut, order);
    };
    Value products = add("MatMul", {by_head(0, heads_first), by_head(1, columns)});
    if (!rows.empty()) {
      const auto with = [&](std::size_t part, const Value& pairs) {
        const Value row = transposed(cut_heads(rows[1 - part]), columns);
        return products_of_pairs(by_head(part, heads_first), row, pairs);
      };
      const Value of_keys = with(1, transposed(seen.of_pairs, {1, 0}));
      products = add("Add", {products, with(0, seen.of_pairs)});
      products = add("Add", {products, transposed(of_keys, {0, 1, 3, 2})});
    }
    const float scale = score_scale({.size = size, .disentangled = !rows.empty()});
    const Value scores = add("Add", {add("Mul", {products, number(scale)}), seen.scores});
    const Value shares = add("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
    const Value mixed = add("MatMul", {shares, by_head(2, heads_first)});
    return add("Reshape", {transposed(mixed, heads_first), list({0, 0, spec_.hidden})});
  }
  // Returns the products of `x` with the rows for the distances of pairs, [batch, heads, sequence,
  // sequence]. `rows`: transposed.
  Value products_of_pairs(const Value& x, const Value& rows, const Value& pairs) {
    const Value products = add("MatMul", {x, rows});
    const Value sizes = add("Shape", {products}, {{"end", std::int64_t{2}}});
    const Value all = add("Concat", {sizes, add("Shape", {pairs})}, {{"axis", std::int64_t{0}}});
    return add("GatherElements", {products, add("Expand", {pairs, all})},
               {{"axis", std::int64_t{3}}});
  }

  // Returns what a layer's second product reads of its first one.
  Value widened(const Value& x) {
    if (!spec_.gated) return gelu(x, spec_.activation);
    const std::vector<Value> parts = halves(x, 2);
    return add("Mul", {gelu(parts[0]), parts[1]});
  }
  // x * (1 + erf(x / sqrt(2))) / 2, or the approximation of erf() by tanh().
  Value gelu(const Value& x, Activation form = Activation::gelu) {
    const Value error = form == Activation::gelu_tanh
                            ? add("Tanh", {argument_of_tanh(x)})
                            : add("Erf", {add("Div", {x, number(std::numbers::sqrt2)})});
    return add("Mul", {add("Mul", {x, add("Add", {error, number(1)})}), number(0.5)});
  }
  // sqrt(2 / pi) * (x + 0.044715 x^3)
  Value argument_of_tanh(const Value& x) {
    const Value square = add("Mul", {add("Mul", {x, x}), number(0.044715)});
    const Value factor = add("Add", {square, number(1)});
    return add("Mul", {add("Mul", {x, factor}), number(0.797884561)});
  }

  static constexpr double kLowest = std::numeric_limits<float>::lowest();

  OnnxGraph& graph_;
  const EncoderSpec& spec_;
  const WeightNames& names_;
  Value types_;  // the input of token types, if the model has several
};

}  // namespace

Value add_encoder(OnnxGraph& graph, const EncoderSpec& spec) {
  return EncoderGraph(graph, spec).encoder();
}

Value add_pooling(OnnxGraph& graph, const EncoderSpec& spec, const Value& states) {
  return EncoderGraph(graph, spec).pooling(states);
}

Value add_pooler(OnnxGraph& graph, const EncoderSpec& spec, const Value& states) {
  EncoderGraph encoder(graph, spec);
  return encoder.pooling(encoder.text_states(states));
}

}  // namespace bp::trainer
