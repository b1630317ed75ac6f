// The files of OnnxGraph, read by a reader of protocol buffers of this test's own.
// docs/acceptance.md, Models: An exported model has the same logits in onnxruntime to 1e-5, and in
// int8 an accuracy within 0.5 points.
#include "trainer/model/onnx_graph.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/support/scratch.h"
#include "trainer/model/onnx_encoder.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;

// The fields of a message: numbers as text, and bytes.
std::multimap<int, std::string> fields_of(const std::string& message) {
  std::multimap<int, std::string> fields;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      number |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return number;
    }
  };
  while (at < message.size()) {
    const std::uint64_t key = varint();
    std::string value;
    if (key % 8 == 0) {
      value = concat(varint());
    } else {
      const std::size_t size = key % 8 == 5 ? 4 : varint();
      value = message.substr(at, size);
      EXPECT_EQ(value.size(), size) << "the message ends before its field";
      at += size;
    }
    fields.emplace(static_cast<int>(key / 8), value);
  }
  return fields;
}

std::vector<std::string> all_of(const std::multimap<int, std::string>& fields, int field) {
  std::vector<std::string> values;
  const auto [begin, end] = fields.equal_range(field);
  for (auto one = begin; one != end; ++one) values.push_back(one->second);
  return values;
}

std::string one_of(const std::multimap<int, std::string>& fields, int field) {
  const std::vector<std::string> values = all_of(fields, field);
  EXPECT_EQ(values.size(), 1U) << field;
  return values.empty() ? "" : values.front();
}

class OnnxFile {
 public:
  explicit OnnxFile(const OnnxGraph& written) {
    const Scratch folder;
    written.write(folder.path("m.onnx"));
    model = fields_of(read_file(folder.path("m.onnx")));
    graph = fields_of(one_of(model, 7));
    for (const std::string& text : all_of(graph, 5)) {
      auto tensor = fields_of(text);
      initializers[one_of(tensor, 8)] = tensor;
    }
  }
  [[nodiscard]] std::vector<std::string> operations() const {
    std::vector<std::string> names;
    for (const std::string& node : all_of(graph, 1)) names.push_back(one_of(fields_of(node), 4));
    return names;
  }
  template <class T>
  [[nodiscard]] std::vector<T> numbers(const std::string& name) const {
    const std::string bytes = one_of(initializers.at(name), 9);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  std::multimap<int, std::string> model;
  std::multimap<int, std::string> graph;
  std::map<std::string, std::multimap<int, std::string>> initializers;
};

NamedTensors small_layer() {
  return {{"dense.weight", at::randn({3, 4})}, {"dense.bias", at::randn({3})}};
}

// docs/features.md, Use: Predictions from a trained model | `bert_train predict`; `export` for
// onnxruntime
TEST(OnnxFiles, HoldTheWeightsAsTheyAre) {
  const NamedTensors parameters = small_layer();
  OnnxGraph graph(parameters, OnnxNumbers::fp32);
  const auto x = graph.input("x", OnnxGraph::Type::f32, {"batch", std::int64_t{4}});
  graph.output(graph.linear(x, "dense"), "y", OnnxGraph::Type::f32, {"batch", std::int64_t{3}});
  graph.metadata("task", "classify");
  const OnnxFile file(graph);
  EXPECT_EQ(one_of(file.model, 1), "8");
  EXPECT_EQ(one_of(fields_of(one_of(file.model, 8)), 2), "17") << "the operator set";
  EXPECT_THAT(file.operations(), ElementsAre("MatMul", "Add", "Identity"));
  EXPECT_THAT(all_of(file.initializers.at("dense.weight.transposed"), 1), ElementsAre("4", "3"));
  const at::Tensor transposed = parameters[0].second.t().contiguous();
  const std::vector<float> numbers = file.numbers<float>("dense.weight.transposed");
  EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), transposed.const_data_ptr<float>()));
  EXPECT_EQ(all_of(file.graph, 11).size(), 1U);
  EXPECT_EQ(all_of(file.graph, 12).size(), 1U);
}

// 7 bits for a matrix, with a factor for each of its outputs.
TEST(OnnxFiles, QuantizeToTheNearestInteger) {
  const NamedTensors parameters = small_layer();
  OnnxGraph graph(parameters, OnnxNumbers::int8);
  const auto x = graph.input("x", OnnxGraph::Type::f32, {"batch", std::int64_t{4}});
  graph.output(graph.linear(x, "dense"), "y", OnnxGraph::Type::f32, {"batch", std::int64_t{3}});
  const OnnxFile file(graph);
  EXPECT_THAT(file.operations(), ElementsAre("DynamicQuantizeLinear", "MatMulInteger", "Mul",
                                             "Cast", "Mul", "Add", "Identity"));
  const auto integers = file.numbers<std::int8_t>("dense.weight.int8");  // [4, 3]
  const auto factors = file.numbers<float>("dense.weight.factors");
  ASSERT_EQ(integers.size(), 12U);
  ASSERT_EQ(factors.size(), 3U);
  const auto weight = parameters[0].second.accessor<float, 2>();
  for (int out = 0; out < 3; ++out) {
    int largest = 0;
    for (int in = 0; in < 4; ++in) {
      const int integer = integers[static_cast<std::size_t>(in * 3 + out)];
      largest = std::max(largest, std::abs(integer));
      EXPECT_NEAR(static_cast<float>(integer) * factors[static_cast<std::size_t>(out)],
                  weight[out][in], factors[static_cast<std::size_t>(out)] * 0.5001F);
    }
    EXPECT_EQ(largest, 64);
  }
}

}  // namespace
}  // namespace bp::trainer
