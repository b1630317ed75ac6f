#include "trainer/tasks/gap/segment_types.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/tensor_file.h"

namespace bp::trainer {
namespace {

constexpr std::string_view kTypes = "embeddings.token_type_embeddings.weight";

at::Tensor parameter_of(const Bert& model) {
  const auto& all = model.parameters();
  const auto found =
      std::ranges::find_if(all, [](const auto& named) { return named.first.ends_with(kTypes); });
  BP_CHECK(found != all.end(), "every encoder has token types");
  return found->second;
}

at::ScalarType number_of(const StoredTensor& tensor, const std::string& path) {
  if (tensor.type == "F32") return at::kFloat;
  if (tensor.type == "F16") return at::kHalf;
  if (tensor.type == "BF16") return at::kBFloat16;
  refuse(path, concat("'", kTypes, "' is of type ", tensor.type, ", not F32, F16 or BF16"));
}

}  // namespace

bool take_first_token_type(Bert& model, const std::string& path) {
  const at::NoGradGuard no_grad;
  at::Tensor types = parameter_of(model);
  const auto file = open_tensor_file(path);
  for (std::size_t i = 0; i < file->tensors().size(); ++i) {
    const StoredTensor& tensor = file->tensors()[i];
    if (!tensor.name.ends_with(kTypes)) continue;
    if (tensor.shape.size() != 2 || tensor.shape[0] < 1 || tensor.shape[1] != types.size(1)) break;
    const at::Tensor stored = at::empty(tensor.shape, number_of(tensor, path));
    file->read(i, stored.data_ptr());
    types.select(0, 0).copy_(stored.select(0, 0));
    model.parameters_changed();
    return true;
  }
  return false;
}

}  // namespace bp::trainer
