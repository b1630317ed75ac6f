// A model as an ONNX file: a graph of operations of ONNX's operator set 17, with the weights. Names
// of values are made as the graph grows; a function that adds an operation returns the name of its
// result.
//
// Writes the format itself: LibTorch exports its own copy of Google's protobuf library, with which
// another copy in the process would clash.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "trainer/common/protobuf_message.h"
#include "trainer/model/parameters.h"

namespace bp::trainer {

// How products multiply and what holds the large matrices.
enum class OnnxNumbers : std::uint8_t {
  fp32,
  // Dynamic quantization: a matrix has 8-bit integers and a factor for each output; a product
  // quantizes its other operand when it runs, by the range that it finds.
  int8,
};

class OnnxGraph {
 public:
  using Value = std::string;  // the name of a value
  struct Attribute {
    std::string name;
    std::variant<std::int64_t, float, std::vector<std::int64_t>> value;
  };
  enum class Type : std::int32_t { f32 = 1, u8 = 2, i8 = 3, i64 = 7 };

  // `parameters` must outlive it.
  OnnxGraph(const NamedTensors& parameters, OnnxNumbers numbers)
      : parameters_(parameters), numbers_(numbers) {}

  // The graph's inputs and outputs. An axis is a size, or a name for one that a caller chooses.
  using Axis = std::variant<std::int64_t, std::string>;
  Value input(const std::string& name, Type type, const std::vector<Axis>& axes);
  void output(const Value& value,
              const std::string& name,
              Type type,
              const std::vector<Axis>& axes);
  void metadata(const std::string& key, const std::string& value);

  Value add(const std::string& operation,
            const std::vector<Value>& inputs,
            const std::vector<Attribute>& attributes = {});
  // For operations with several results.
  std::vector<Value> add_many(const std::string& operation,
                              const std::vector<Value>& inputs,
                              const std::vector<Attribute>& attributes,
                              int results);
  Value to_float(const Value& value);
  Value constant(float value);
  Value constant(const std::vector<std::int64_t>& values);  // a vector
  Value constant(const at::Tensor& values);                 // fp32 or i64

  [[nodiscard]] bool has(const std::string& parameter) const;
  // A parameter as it is.
  Value parameter(const std::string& name);
  // x W^T + b, with the parameters "<name>.weight" and, if the model has it, "<name>.bias".
  Value linear(const Value& x, const std::string& name);
  Value layer_norm(const Value& x, const std::string& name, double epsilon);
  // The rows `ids` of the parameter `name`.
  Value embedding(const std::string& name, const Value& ids);

  // Writes the file, which appears when it is complete. Throws io, naming `path`, and
  // invalid_argument for a graph of 2 GiB or more, which a file of the format does not hold.
  void write(const std::string& path) const;

 private:
  struct Initializer {
    ProtobufMessage header;  // all of its message but the numbers
    at::Tensor numbers;
  };
  const at::Tensor& find(const std::string& name) const;
  Value initializer(const std::string& name, Type type, const at::Tensor& numbers);
  Value product(const Value& x, const std::string& name);
  Value next(std::string_view operation);

  const NamedTensors& parameters_;
  OnnxNumbers numbers_;
  std::int64_t count_ = 0;
  std::vector<std::string> known_;  // names of initializers
  ProtobufMessage nodes_;           // GraphProto's
  ProtobufMessage ends_;            // GraphProto's inputs and outputs
  ProtobufMessage metadata_;        // ModelProto's
  std::vector<Initializer> initializers_;
};

}  // namespace bp::trainer
