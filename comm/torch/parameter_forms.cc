#include "comm/torch/parameter_forms.h"

#include "base/text.h"
#include "comm/torch/refuse.h"

namespace bp {

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
