#include "trainer/model/onnx_graph.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/round.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cstddef>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/version.h"
#include "trainer/data/whole_file.h"
#include "trainer/model/proto_fields.h"

namespace bp::trainer {
namespace {

using at::Tensor;

constexpr std::int64_t kIrVersion = 8;
constexpr std::int64_t kOperatorSet = 17;
constexpr std::size_t kMostBytes = std::size_t{1} << 31;

// Field numbers of onnx.proto.
namespace field {
constexpr int kModelIrVersion = 1;
constexpr int kModelProducer = 2;
constexpr int kModelProducerVersion = 3;
constexpr int kModelGraph = 7;
constexpr int kModelOperatorSet = 8;
constexpr int kModelMetadata = 14;
constexpr int kOperatorSetVersion = 2;
constexpr int kGraphNode = 1;
constexpr int kGraphName = 2;
constexpr int kGraphInitializer = 5;
constexpr int kGraphInput = 11;
constexpr int kGraphOutput = 12;
constexpr int kNodeInput = 1;
constexpr int kNodeOutput = 2;
constexpr int kNodeName = 3;
constexpr int kNodeOperation = 4;
constexpr int kNodeAttribute = 5;
constexpr int kAttributeName = 1;
constexpr int kAttributeFloat = 2;
constexpr int kAttributeInteger = 3;
constexpr int kAttributeIntegers = 8;
constexpr int kAttributeType = 20;
constexpr int kTensorAxis = 1;
constexpr int kTensorType = 2;
constexpr int kTensorName = 8;
constexpr int kTensorNumbers = 9;
}  // namespace field

// AttributeProto.AttributeType
constexpr std::int64_t kFloat = 1;
constexpr std::int64_t kInteger = 2;
constexpr std::int64_t kIntegers = 7;

std::string encoded(const OnnxGraph::Attribute& attribute) {
  std::string text;
  append_bytes(text, field::kAttributeName, attribute.name);
  std::int64_t type = kInteger;
  if (const auto* number = std::get_if<float>(&attribute.value)) {
    append_float(text, field::kAttributeFloat, *number);
    type = kFloat;
  } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    for (const std::int64_t one : *list) append_integer(text, field::kAttributeIntegers, one);
    type = kIntegers;
  } else {
    append_integer(text, field::kAttributeInteger, std::get<std::int64_t>(attribute.value));
  }
  append_integer(text, field::kAttributeType, type);
  return text;
}

// ValueInfoProto of a tensor.
std::string encoded(const std::string& name,
                    OnnxGraph::Type type,
                    const std::vector<OnnxGraph::Axis>& axes) {
  std::string shape;
  for (const OnnxGraph::Axis& axis : axes) {
    std::string dimension;
    if (const auto* size = std::get_if<std::int64_t>(&axis)) {
      append_integer(dimension, 1, *size);
    } else {
      append_bytes(dimension, 2, std::get<std::string>(axis));
    }
    append_bytes(shape, 1, dimension);
  }
  std::string tensor;
  append_integer(tensor, 1, static_cast<std::int64_t>(type));
  append_bytes(tensor, 2, shape);
  std::string kind;
  append_bytes(kind, 1, tensor);
  std::string info;
  append_bytes(info, 1, name);
  append_bytes(info, 2, kind);
  return info;
}

std::string key_value(const std::string& key, const std::string& value) {
  std::string entry;
  append_bytes(entry, 1, key);
  append_bytes(entry, 2, value);
  return entry;
}

// Numbers of 8 bits, and the factors that give them back: one for each row.
struct Quantized {
  Tensor numbers;  // i8, as `values`
  Tensor factors;  // fp32 [rows]
};

// The integers are -most to most.
Quantized quantize_rows(const Tensor& values, int most) {
  const Tensor largest = at::amax(at::abs(values), {1}, /*keepdim=*/true);
  const Tensor factors = at::clamp_min(largest, 1e-30) / most;
  return {at::round(values / factors).to(at::kChar).contiguous(), factors.reshape({-1})};
}

// Processors without VNNI add two products of 8 bits in 16 bits, where the sum of the largest would
// not fit. 7 bits for one of the two fit.
constexpr int kMostOfMatrix = 64;
constexpr int kMostOfTable = 127;

}  // namespace

OnnxGraph::Value OnnxGraph::next(std::string_view operation) {
  return concat(operation, "_", count_++);
}

OnnxGraph::Value OnnxGraph::input(const std::string& name, Type type, std::vector<Axis> axes) {
  append_bytes(ends_, field::kGraphInput, encoded(name, type, axes));
  return name;
}

void OnnxGraph::output(const Value& value,
                       const std::string& name,
                       Type type,
                       std::vector<Axis> axes) {
  std::string node;
  append_bytes(node, field::kNodeInput, value);
  append_bytes(node, field::kNodeOutput, name);
  append_bytes(node, field::kNodeName, next("Identity"));
  append_bytes(node, field::kNodeOperation, "Identity");
  append_bytes(nodes_, field::kGraphNode, node);
  append_bytes(ends_, field::kGraphOutput, encoded(name, type, axes));
}

void OnnxGraph::metadata(const std::string& key, const std::string& value) {
  append_bytes(metadata_, field::kModelMetadata, key_value(key, value));
}

OnnxGraph::Value OnnxGraph::add(const std::string& operation,
                                const std::vector<Value>& inputs,
                                const std::vector<Attribute>& attributes) {
  return add_many(operation, inputs, attributes, 1).front();
}

std::vector<OnnxGraph::Value> OnnxGraph::add_many(const std::string& operation,
                                                  const std::vector<Value>& inputs,
                                                  const std::vector<Attribute>& attributes,
                                                  int results) {
  const std::string name = next(operation);
  std::string node;
  for (const Value& value : inputs) append_bytes(node, field::kNodeInput, value);
  std::vector<Value> values;
  for (int i = 0; i < results; ++i) {
    values.push_back(results == 1 ? name : concat(name, "_", i));
    append_bytes(node, field::kNodeOutput, values.back());
  }
  append_bytes(node, field::kNodeName, name);
  append_bytes(node, field::kNodeOperation, operation);
  for (const Attribute& attribute : attributes) {
    append_bytes(node, field::kNodeAttribute, encoded(attribute));
  }
  append_bytes(nodes_, field::kGraphNode, node);
  return values;
}

OnnxGraph::Value OnnxGraph::initializer(const std::string& name, Type type, const Tensor& numbers) {
  if (std::ranges::find(known_, name) != known_.end()) return name;
  known_.push_back(name);
  Initializer added;
  for (const std::int64_t size : numbers.sizes()) {
    append_integer(added.header, field::kTensorAxis, size);
  }
  append_integer(added.header, field::kTensorType, static_cast<std::int64_t>(type));
  append_bytes(added.header, field::kTensorName, name);
  added.numbers = numbers.detach().contiguous();
  initializers_.push_back(std::move(added));
  return name;
}

OnnxGraph::Value OnnxGraph::to_float(const Value& value) {
  return add("Cast", {value}, {{"to", static_cast<std::int64_t>(Type::f32)}});
}

OnnxGraph::Value OnnxGraph::constant(float value) {
  return initializer(next("constant"), Type::f32, at::tensor(value));
}

OnnxGraph::Value OnnxGraph::constant(const std::vector<std::int64_t>& values) {
  return initializer(next("constant"), Type::i64, at::tensor(values, at::kLong));
}

bool OnnxGraph::has(const std::string& parameter) const {
  return std::ranges::any_of(parameters_, [&](const auto& one) { return one.first == parameter; });
}

const Tensor& OnnxGraph::find(const std::string& name) const {
  const auto found =
      std::ranges::find_if(parameters_, [&](const auto& one) { return one.first == name; });
  BP_CHECK(found != parameters_.end(), "a graph uses a parameter that the model has");
  return found->second;
}

OnnxGraph::Value OnnxGraph::parameter(const std::string& name) {
  return initializer(name, Type::f32, find(name));
}

OnnxGraph::Value OnnxGraph::linear(const Value& x, const std::string& name) {
  return add("Add", {product(x, name + ".weight"), parameter(name + ".bias")});
}

// x W^T
OnnxGraph::Value OnnxGraph::product(const Value& x, const std::string& name) {
  const Tensor& weight = find(name);
  if (numbers_ == OnnxNumbers::fp32) {
    return add("MatMul", {x, initializer(name + ".transposed", Type::f32, weight.t())});
  }
  const Quantized quantized = quantize_rows(weight.detach(), kMostOfMatrix);
  const Value matrix = initializer(name + ".int8", Type::i8, quantized.numbers.t());
  const Value factors = initializer(name + ".factors", Type::f32, quantized.factors);
  const std::vector<Value> given = add_many("DynamicQuantizeLinear", {x}, {}, 3);
  const Value sums = add("MatMulInteger", {given[0], matrix, given[2]});
  const Value factor = add("Mul", {given[1], factors});
  return add("Mul", {to_float(sums), factor});
}

OnnxGraph::Value OnnxGraph::layer_norm(const Value& x, const std::string& name, double epsilon) {
  return add("LayerNormalization", {x, parameter(name + ".weight"), parameter(name + ".bias")},
             {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(epsilon)}});
}

OnnxGraph::Value OnnxGraph::embedding(const std::string& name, const Value& ids) {
  if (numbers_ == OnnxNumbers::fp32) return add("Gather", {parameter(name), ids});
  const Quantized quantized = quantize_rows(find(name).detach(), kMostOfTable);
  const Value rows = initializer(name + ".int8", Type::i8, quantized.numbers);
  const Value factors = initializer(name + ".factors", Type::f32, quantized.factors.unsqueeze(1));
  const Value integers = to_float(add("Gather", {rows, ids}));
  return add("Mul", {integers, add("Gather", {factors, ids})});
}

void OnnxGraph::write(const std::string& path) const {
  std::size_t numbers = 0;
  std::vector<std::string> heads;  // of each initializer's field, up to its numbers
  for (const Initializer& one : initializers_) {
    std::string key;
    append_key(key, field::kTensorNumbers, 2);
    append_varint(key, one.numbers.nbytes());
    std::string head;
    append_key(head, field::kGraphInitializer, 2);
    append_varint(head, one.header.size() + key.size() + one.numbers.nbytes());
    heads.push_back(head + one.header + key);
    numbers += one.numbers.nbytes();
  }
  std::string name;
  append_bytes(name, field::kGraphName, "bert");
  std::size_t graph = nodes_.size() + name.size() + ends_.size() + numbers;
  for (const std::string& head : heads) graph += head.size();

  std::string model;
  append_integer(model, field::kModelIrVersion, kIrVersion);
  append_bytes(model, field::kModelProducer, "bert_train");
  append_bytes(model, field::kModelProducerVersion, BP_VERSION);
  std::string operators;
  append_integer(operators, field::kOperatorSetVersion, kOperatorSet);
  append_bytes(model, field::kModelOperatorSet, operators);
  model += metadata_;
  append_key(model, field::kModelGraph, 2);
  append_varint(model, graph);
  if (model.size() + graph >= kMostBytes) {
    throw Error(ErrorCode::invalid_argument, concat("the model has ", (model.size() + graph) >> 20,
                                                    " MiB, and a file of ONNX "
                                                    "holds at most 2,047 MiB"));
  }

  PartFile file(path);
  file.write(model + nodes_ + name + ends_);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    file.write(heads[i]);
    file.write({static_cast<const char*>(initializers_[i].numbers.const_data_ptr()),
                initializers_[i].numbers.nbytes()});
  }
  file.keep();
}

}  // namespace bp::trainer
