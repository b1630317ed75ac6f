// Every operator that has no function of its own: the host's kernel does it, in a turn on the
// current stream.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tests/support/fake_torch_device/on_host.h"
#include "tests/support/fake_torch_device/streams.h"

namespace fake_torch_device {
namespace {

using c10::IValue;

// Calls `visit` for each tensor in the value, which may be a list.
void each_tensor(const IValue& value, const std::function<void(const at::Tensor&)>& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) each_tensor(element, visit);
  }
}

// Returns the value with each tensor exchanged.
IValue with_tensors(const IValue& value, const std::function<at::Tensor(const at::Tensor&)>& map) {
  if (value.isTensor()) return map(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const IValue& element : value.toListRef()) list.push_back(map(element.toTensor()));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& element : value.toOptionalTensorVector()) {
      list.push_back(element.has_value() ? std::optional(map(*element)) : std::nullopt);
    }
    return list;
  }
  return value;
}

// CUDA takes the indices of x[i, j] on the host, and a single number beside a tensor.
void check_tensor_of_host(const std::string& name, const IValue& value, const at::Tensor& x) {
  if (!x.defined() || is_on_device(x) || value.isOptionalTensorList()) return;
  TORCH_CHECK(value.isTensor() && x.dim() == 0,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              c10::DeviceTypeName(kType, true), " and ", x.device(), "! (in ", name, ")");
}

bool writes(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

// CUDA must read the result before such an operator returns.
bool waits_for_result(const c10::OperatorHandle& op) {
  if (op.hasTag(at::Tag::dynamic_output_shape)) return true;
  for (const c10::Argument& result : op.schema().returns()) {
    const c10::TypeKind kind = result.type()->kind();
    if (kind != c10::TypeKind::TensorType && kind != c10::TypeKind::ListType) return true;
  }
  return false;
}

// Takes the arguments from the stack, and gives back what the host's kernel may use.
std::optional<c10::Device> begin(const c10::OperatorHandle& op,
                                 c10::Stack& stack,
                                 OnHost& tensors) {
  const std::string name = op.schema().name();
  const auto& arguments = op.schema().arguments();
  const std::size_t first = stack.size() - arguments.size();
  std::optional<c10::Device> device;  // where results go
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const IValue& value = stack[first + i];
    if (value.isDevice()) device = with_index(value.toDevice());
    each_tensor(value, [&](const at::Tensor& x) {
      check_tensor_of_host(name, value, x);
      if (is_on_device(x)) tensors.add(x, writes(arguments[i]));
    });
  }
  tensors.begin(name);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    IValue& value = stack[first + i];
    if (value.isDevice()) value = c10::Device(c10::kCPU);
    value = with_tensors(
        value, [&](const at::Tensor& x) { return is_on_device(x) ? tensors.on_host(x) : x; });
  }
  return device.has_value() ? device : tensors.device();
}

void run_on_host(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) {
  OnHost tensors;
  const std::optional<c10::Device> device = begin(op, *stack, tensors);
  {
    const at::AutoDispatchBelowADInplaceOrView guard;
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  tensors.end();
  const std::size_t count = op.schema().returns().size();
  for (std::size_t i = stack->size() - count; i < stack->size(); ++i) {
    (*stack)[i] = with_tensors((*stack)[i], [&](const at::Tensor& result) {
      if (!result.defined() || !device.has_value() || device->type() != kType) return result;
      if (const at::Tensor x = tensors.original(result); x.defined()) return x;
      TORCH_CHECK(!tensors.is_view(result), op.schema().name(),
                  " returns a view; the fake device needs a function for it");
      return to_device(result, *device);
    });
  }
  if (device.has_value() && waits_for_result(op)) finish(current_stream(*device));
}

TORCH_LIBRARY_IMPL(_, FAKE_TORCH_KEY, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
}
// LibTorch would compose these of other operators, as it does for no CUDA device.
TORCH_LIBRARY_IMPL(aten, FAKE_TORCH_KEY, library) {
  for (const char* const name :
       {"_stack", "mish_backward", "native_group_norm", "native_layer_norm", "silu_backward"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
  }
}

}  // namespace
}  // namespace fake_torch_device
