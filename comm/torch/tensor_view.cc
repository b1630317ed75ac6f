#include "comm/torch/tensor_view.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/torch/collective.h"
#include "comm/torch/current_stream.h"

namespace bp {
namespace {

// "u8 i8 i32 ..."
std::string names_of_types() {
  std::string names;
  for (const DataType type : kDataTypes) {
    names += concat(names.empty() ? "" : " ", name_of(type));
  }
  return names;
}

}  // namespace

std::optional<DataType> data_type_of(c10::ScalarType type) {
  const auto* const found =
      std::ranges::find(kDataTypes, type, [](DataType known) { return scalar_type_of(known); });
  if (found == kDataTypes.end()) {
    return std::nullopt;
  }
  return *found;
}

c10::ScalarType scalar_type_of(DataType type) {
  switch (type) {
    case DataType::u8:
      return c10::ScalarType::Byte;
    case DataType::i8:
      return c10::ScalarType::Char;
    case DataType::i32:
      return c10::ScalarType::Int;
    case DataType::i64:
      return c10::ScalarType::Long;
    case DataType::f16:
      return c10::ScalarType::Half;
    case DataType::bf16:
      return c10::ScalarType::BFloat16;
    case DataType::f32:
      return c10::ScalarType::Float;
    case DataType::f64:
      return c10::ScalarType::Double;
    case DataType::u16:
      return c10::ScalarType::UInt16;
    case DataType::boolean:
      return c10::ScalarType::Bool;
    case DataType::c64:
      return c10::ScalarType::ComplexFloat;
  }
  BP_CHECK(false, "a data type without a name");
}

Device device_of(c10::Device device) {
  if (device.is_cpu()) return {};
  return {Device::Kind::cuda, std::max<int>(device.index(), 0)};
}

ConstView elements_of(const at::Tensor& tensor) {
  BP_CHECK(tensor.is_non_overlapping_and_dense(), "elements with holes between them");
  const auto type = data_type_of(tensor.scalar_type());
  BP_CHECK(type, "elements of a type without collectives");
  return {static_cast<const std::byte*>(tensor.const_data_ptr()),
          static_cast<std::size_t>(tensor.numel()), *type, device_of(tensor.device())};
}

CollectiveOptions after_work_on(const at::Tensor& tensor, CollectiveOptions options) {
  const bool on_device = tensor.defined() && !tensor.is_cpu() && !tensor.is_meta();
  if (options.stream == nullptr && on_device) options.stream = current_stream(tensor.device());
  return options;
}

View view_of(const at::Tensor& tensor) {
  const auto refuse = [](const auto&... why) {
    throw Error(ErrorCode::invalid_argument, concat("view_of: ", why...));
  };
  if (!tensor.defined()) {
    refuse("the tensor is undefined");
  }
  if (tensor.is_meta() || tensor.layout() != c10::kStrided) {
    refuse("a ", tensor.layout(), " tensor on ", tensor.device(),
           " where a strided one in memory is needed");
  }
  if (!tensor.is_contiguous()) {
    refuse("the tensor of shape ", tensor.sizes(), " has strides ", tensor.strides(),
           " and is not contiguous: pass x.contiguous() and copy the result back");
  }
  const auto type = data_type_of(tensor.scalar_type());
  if (!type) {
    refuse("no collective for elements of type ", tensor.scalar_type(),
           ": convert the tensor to one of ", names_of_types());
  }
  return {static_cast<std::byte*>(tensor.mutable_data_ptr()),
          static_cast<std::size_t>(tensor.numel()), *type, device_of(tensor.device())};
}

}  // namespace bp
