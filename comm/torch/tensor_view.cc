#include "comm/torch/tensor_view.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/check.h"
#include "base/joined.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/torch/collective.h"

namespace bp {
namespace {

// Returns the handle by which the device's own library knows the stream. An older LibTorch does not
// tell it: the host then waits for the stream, and work on any other stream may follow.
template <class Stream>
void* handle_of(const Stream& stream) {
  if constexpr (requires { stream.native_handle(); }) {
    return stream.native_handle();
  } else {
    stream.synchronize();
    return nullptr;
  }
}

using TypePair = std::pair<DataType, c10::ScalarType>;
constexpr std::array<TypePair, kDataTypes.size()> kTypes = {
    {{DataType::u8, c10::ScalarType::Byte},
     {DataType::i8, c10::ScalarType::Char},
     {DataType::i32, c10::ScalarType::Int},
     {DataType::i64, c10::ScalarType::Long},
     {DataType::f16, c10::ScalarType::Half},
     {DataType::bf16, c10::ScalarType::BFloat16},
     {DataType::f32, c10::ScalarType::Float},
     {DataType::f64, c10::ScalarType::Double},
     {DataType::u16, c10::ScalarType::UInt16},
     {DataType::boolean, c10::ScalarType::Bool},
     {DataType::c64, c10::ScalarType::ComplexFloat}}};

// "u8 i8 i32 ..."
std::string names_of_types() {
  return joined(kDataTypes, " ", [](DataType type) { return name_of(type); });
}

}  // namespace

std::optional<DataType> data_type_of(c10::ScalarType type) {
  const auto* const found = std::ranges::find(kTypes, type, &TypePair::second);
  return found == kTypes.end() ? std::nullopt : std::optional(found->first);
}

c10::ScalarType scalar_type_of(DataType type) {
  const auto* const found = std::ranges::find(kTypes, type, &TypePair::first);
  BP_CHECK(found != kTypes.end(), "a data type without a name");
  return found->second;
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

std::string_view last_element_of(const at::Tensor& tensor) {
  const bool is_readable = tensor.is_cpu() && tensor.layout() == c10::kStrided &&
                           tensor.numel() > 0 && tensor.is_non_overlapping_and_dense();
  if (!is_readable) return {};
  const std::string_view all(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  return all.substr(all.size() - static_cast<std::size_t>(tensor.element_size()));
}

void* current_stream(c10::Device device) {
  if (device.is_cpu()) return nullptr;
  const c10::impl::VirtualGuardImpl guard(device.type());
  return handle_of(guard.getStream(device));
}

void finish_current_stream(c10::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeStream(guard.getStream(device));
}

}  // namespace bp
