#include "comm/torch/parameter_set.h"

#include <torch/optim/optimizer.h>

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "comm/torch/misuse.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

void require_dense(const char* what, const std::string& name, const at::Tensor& tensor) {
  if (!tensor.defined()) {
    refuse(what, " ", name, " is undefined");
  }
  if (tensor.is_meta() || tensor.layout() != c10::kStrided ||
      !tensor.is_non_overlapping_and_dense()) {
    refuse(what, " ", name, " is a ", tensor.layout(), " tensor on ", tensor.device(),
           " with strides ", tensor.strides(), "; only dense ones in memory can be taken");
  }
}

void check(const std::string& name, const at::Tensor& tensor) {
  if (name.empty()) {
    refuse("a parameter has no name: pass model->named_parameters().pairs()");
  }
  require_dense("parameter", name, tensor);
  if (!tensor.requires_grad()) {
    return;
  }
  if (!tensor.is_leaf()) {
    refuse("parameter ", name, " is the result of a computation, not a leaf: no gradient stays");
  }
  const auto type = data_type_of(tensor.scalar_type());
  if (!type || class_of(*type) != TypeClass::real) {
    refuse("parameter ", name, " has elements of type ", tensor.scalar_type(),
           "; gradients can be f16 bf16 f32 f64");
  }
}

void require_one_device(const NamedTensors& given) {
  const auto& [first_name, first] = given.front();
  for (const auto& [name, tensor] : given) {
    if (tensor.device() != first.device()) {
      refuse("parameter ", name, " is on ", tensor.device(), " and parameter ", first_name, " on ",
             first.device(), ": move the whole model to one device");
    }
  }
}

}  // namespace

std::string describe(const Parameter& parameter) {
  const at::Tensor& tensor = parameter.tensor;
  const auto type = data_type_of(tensor.scalar_type());
  std::string text = concat(parameter.name, " ");
  text += type ? std::string(name_of(*type)) : concat(tensor.scalar_type());
  text += concat(" ", tensor.sizes());
  if (!tensor.is_contiguous()) {
    text += concat(" strides ", tensor.strides());
  }
  if (!tensor.is_cpu()) {
    text += concat(" on ", name_of(device_of(tensor.device()).kind));
  }
  return text;
}

std::vector<Parameter> check_buffers(const NamedTensors& given) {
  std::vector<Parameter> buffers;
  for (const auto& [name, tensor] : given) {
    require_dense("buffer", name, tensor);
    buffers.push_back({name, tensor});
  }
  return buffers;
}

ParameterSet sort_parameters(const NamedTensors& given) {
  ParameterSet set;
  std::unordered_set<std::string> names;
  std::unordered_set<const void*> tensors;
  for (const auto& [name, tensor] : given) {
    check(name, tensor);
    if (!names.insert(name).second) {
      refuse("two parameters are named ", name, ": give each its own name");
    }
    if (tensors.insert(tensor.unsafeGetTensorImpl()).second) {
      (tensor.requires_grad() ? set.trained : set.frozen).push_back({name, tensor});
    }
  }
  if (set.trained.empty()) {
    refuse("none of the ", given.size(), " parameters requires a gradient");
  }
  require_one_device(given);
  return set;
}

void require_all_named(const torch::optim::Optimizer& optimizer, const ParameterSet& parameters) {
  std::unordered_set<const void*> named;
  for (const auto* list : {&parameters.trained, &parameters.frozen}) {
    for (const Parameter& parameter : *list) {
      named.insert(parameter.tensor.unsafeGetTensorImpl());
    }
  }
  for (std::size_t group = 0; group < optimizer.param_groups().size(); ++group) {
    const auto& members = optimizer.param_groups()[group].params();
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!named.contains(members[i].unsafeGetTensorImpl())) {
        refuse(
            "parameter ", i, " of the wrapped optimizer's group ", group, ", of shape ",
            members[i].sizes(),
            ", is not among the named ones, so its gradient would never be reduced: pass all of "
            "model->named_parameters().pairs(), to a new DistributedOptimizer where it was added "
            "later");
      }
    }
  }
}

Members members_of(const torch::optim::Optimizer& optimizer) {
  Members members;
  for (const auto& group : optimizer.param_groups()) {
    std::vector<const void*>& ids = members.emplace_back();
    for (const at::Tensor& parameter : group.params()) {
      ids.push_back(parameter.unsafeGetTensorImpl());
    }
  }
  return members;
}

std::vector<std::string> describe(const ParameterSet& parameters, const Members& members) {
  std::unordered_map<const void*, std::size_t> groups;
  for (std::size_t group = 0; group < members.size(); ++group) {
    for (const void* id : members[group]) {
      groups.emplace(id, group);
    }
  }
  std::vector<std::string> lines;
  const auto add = [&](const Parameter& parameter, const char* state) {
    const auto group = groups.find(parameter.tensor.unsafeGetTensorImpl());
    std::string line = describe(parameter) + state;
    if (group == groups.end()) {
      line += " (not in the wrapped optimizer)";
    } else if (group->second > 0) {
      line += concat(" (group ", group->second, ")");
    }
    lines.push_back(std::move(line));
  };
  for (const Parameter& parameter : parameters.trained) {
    add(parameter, "");
  }
  for (const Parameter& parameter : parameters.frozen) {
    add(parameter, " (frozen)");
  }
  return lines;
}

ParameterForms::ParameterForms(const std::vector<Parameter>& parameters) : parameters_(parameters) {
  for (const auto& [name, tensor] : parameters) {
    forms_.push_back({tensor.scalar_type(), tensor.sizes().vec(), tensor.device()});
  }
}

void ParameterForms::require_unchanged() const {
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    const auto& [name, now] = parameters_[i];
    const auto& [type, shape, device] = forms_[i];
    if (now.scalar_type() != type || now.sizes() != shape || now.device() != device) {
      refuse("parameter ", name, " is ", now.scalar_type(), " ", now.sizes(), " on ", now.device(),
             " and was ", type, " ", at::IntArrayRef(shape), " on ", device,
             " when the optimizer was made: change the model first, and make the optimizer "
             "afterwards");
    }
  }
}

}  // namespace bp
