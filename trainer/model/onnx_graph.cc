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
#include "trainer/common/whole_file.h"

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

ProtobufMessage encoded(const OnnxGraph::Attribute& attribute) {
  ProtobufMessage message;
  message.bytes(field::kAttributeName, attribute.name);
  std::int64_t type = kInteger;
  if (const auto* number = std::get_if<float>(&attribute.value)) {
    message.single(field::kAttributeFloat, *number);
    type = kFloat;
  } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    for (const std::int64_t one : *list) message.integer(field::kAttributeIntegers, one);
    type = kIntegers;
  } else {
    message.integer(field::kAttributeInteger, std::get<std::int64_t>(attribute.value));
  }
  message.integer(field::kAttributeType, type);
  return message;
}

// ValueInfoProto of a tensor.
ProtobufMessage encoded(const std::string& name,
                        OnnxGraph::Type type,
                        const std::vector<OnnxGraph::Axis>& axes) {
  ProtobufMessage shape;
  for (const OnnxGraph::Axis& axis : axes) {
    ProtobufMessage dimension;
    if (const auto* size = std::get_if<std::int64_t>(&axis)) {
      dimension.integer(1, *size);
    } else {
      dimension.bytes(2, std::get<std::string>(axis));
    }
    shape.message(1, dimension);
  }
  ProtobufMessage tensor;
  tensor.integer(1, static_cast<std::int64_t>(type)).message(2, shape);
  ProtobufMessage kind;
  kind.message(1, tensor);
  ProtobufMessage info;
  info.bytes(1, name).message(2, kind);
  return info;
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

OnnxGraph::Value OnnxGraph::input(const std::string& name,
                                  Type type,
                                  const std::vector<Axis>& axes) {
  ends_.message(field::kGraphInput, encoded(name, type, axes));
  return name;
}

void OnnxGraph::output(const Value& value,
                       const std::string& name,
                       Type type,
                       const std::vector<Axis>& axes) {
  ProtobufMessage node;
  node.bytes(field::kNodeInput, value).bytes(field::kNodeOutput, name);
  node.bytes(field::kNodeName, next("Identity")).bytes(field::kNodeOperation, "Identity");
  nodes_.message(field::kGraphNode, node);
  ends_.message(field::kGraphOutput, encoded(name, type, axes));
}

void OnnxGraph::metadata(const std::string& key, const std::string& value) {
  ProtobufMessage entry;
  entry.bytes(1, key).bytes(2, value);
  metadata_.message(field::kModelMetadata, entry);
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
  ProtobufMessage node;
  for (const Value& value : inputs) node.bytes(field::kNodeInput, value);
  std::vector<Value> values;
  for (int i = 0; i < results; ++i) {
    values.push_back(results == 1 ? name : concat(name, "_", i));
    node.bytes(field::kNodeOutput, values.back());
  }
  node.bytes(field::kNodeName, name).bytes(field::kNodeOperation, operation);
  for (const Attribute& attribute : attributes) {
    node.message(field::kNodeAttribute, encoded(attribute));
  }
  nodes_.message(field::kGraphNode, node);
  return values;
}

OnnxGraph::Value OnnxGraph::initializer(const std::string& name, Type type, const Tensor& numbers) {
  if (std::ranges::find(known_, name) != known_.end()) return name;
  known_.push_back(name);
  Initializer added;
  for (const std::int64_t size : numbers.sizes()) {
    added.header.integer(field::kTensorAxis, size);
  }
  added.header.integer(field::kTensorType, static_cast<std::int64_t>(type));
  added.header.bytes(field::kTensorName, name);
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

OnnxGraph::Value OnnxGraph::constant(const Tensor& values) {
  const Type type = values.scalar_type() == at::kLong ? Type::i64 : Type::f32;
  return initializer(next("constant"), type, values);
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
  const Value y = product(x, name + ".weight");
  return has(name + ".bias") ? add("Add", {y, parameter(name + ".bias")}) : y;
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
  std::vector<Value> inputs = {x, parameter(name + ".weight")};
  if (has(name + ".bias")) inputs.push_back(parameter(name + ".bias"));
  return add("LayerNormalization", inputs,
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
  // Of each initializer: all of its field but the numbers.
  std::vector<std::string> heads;
  ProtobufMessage name;
  name.bytes(field::kGraphName, "bert");
  std::size_t graph = nodes_.text().size() + name.text().size() + ends_.text().size();
  for (const Initializer& one : initializers_) {
    ProtobufMessage tensor = one.header;
    tensor.begin_bytes(field::kTensorNumbers, one.numbers.nbytes());
    ProtobufMessage head;
    head.begin_bytes(field::kGraphInitializer, tensor.text().size() + one.numbers.nbytes());
    heads.push_back(head.text() + tensor.text());
    graph += heads.back().size() + one.numbers.nbytes();
  }

  ProtobufMessage operators;
  operators.integer(field::kOperatorSetVersion, kOperatorSet);
  ProtobufMessage model;
  model.integer(field::kModelIrVersion, kIrVersion).bytes(field::kModelProducer, "bert_train");
  model.bytes(field::kModelProducerVersion, BP_VERSION);
  model.message(field::kModelOperatorSet, operators);
  ProtobufMessage begin;
  begin.begin_bytes(field::kModelGraph, graph);
  const std::string front = model.text() + metadata_.text() + begin.text();
  if (front.size() + graph >= kMostBytes) {
    throw Error(ErrorCode::invalid_argument, concat("the model has ", (front.size() + graph) >> 20,
                                                    " MiB, and a file of ONNX "
                                                    "holds at most 2,047 MiB"));
  }

  PartFile file(path);
  file.write(front + nodes_.text() + name.text() + ends_.text());
  for (std::size_t i = 0; i < heads.size(); ++i) {
    file.write(heads[i]);
    file.write({static_cast<const char*>(initializers_[i].numbers.const_data_ptr()),
                initializers_[i].numbers.nbytes()});
  }
  file.keep();
}

}  // namespace bp::trainer
