#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/text_list.h"
#include "trainer/model/families/family.h"
#include "trainer/model/files/tensor_file.h"
#include "trainer/model/weights.h"

namespace bp::trainer {
namespace {

using at::Tensor;

// Returns a file's name of a tensor without what wrappers put before it, as files have it today.
std::string modern_name(std::string name) {
  for (const std::string_view wrapper : {"module.", "_orig_mod."}) {
    if (name.starts_with(wrapper)) name.erase(0, wrapper.size());
  }
  const auto rename_suffix = [&name](std::string_view from, std::string_view to) {
    if (name.ends_with(from)) name.replace(name.size() - from.size(), from.size(), to);
  };
  rename_suffix("LayerNorm.gamma", "LayerNorm.weight");
  rename_suffix("LayerNorm.beta", "LayerNorm.bias");
  return name;
}

std::string shape_text(at::IntArrayRef shape) { return concat("[", list_of(shape, ", "), "]"); }

at::ScalarType scalar_type(const StoredTensor& tensor, const std::string& path) {
  constexpr std::pair<std::string_view, at::ScalarType> kTypes[] = {
      {"F32", at::kFloat},
      {"F16", at::kHalf},
      {"BF16", at::kBFloat16},
      {"F64", at::kDouble},
      {"F8_E4M3", at::kFloat8_e4m3fn},
      {"F8_E5M2", at::kFloat8_e5m2},
  };
  for (const auto& [name, type] : kTypes) {
    if (tensor.type == name) return type;
  }
  throw Error(ErrorCode::invalid_argument,
              concat(path, ": ", in_quotes(tensor.name), " is of type ", tensor.type,
                     "; weights must be of a floating-point type"));
}

// Loads the tensors of a file into a model's parameters, and records which tensor set each.
class Loading {
 public:
  // `wanted`: the parameters, each under a name in the file less `prefix`.
  Loading(const Bert& model,
          const NamedTensors& wanted,
          std::string path,
          std::string_view prefix,
          std::vector<std::string> left,
          bool reads = true)
      : reads_(reads),
        path_(std::move(path)),
        prefix_(prefix),
        left_(std::move(left)),
        encoder_(names_of(model.config()).prefix),
        ties_(model.ties()),
        file_(open_tensor_file(path_)),
        wanted_(wanted.begin(), wanted.end()) {
    const WeightNames& names = names_of(model.config());
    for (const std::string& other : names.tied_words) {
      ties_.emplace(concat(names.prefix, other, ".weight"), names.word_embeddings());
    }
  }

  LoadReport operator()() {
    for (std::size_t i = 0; i < file_->tensors().size(); ++i) take(i);
    for (const auto& [name, values] : wanted_) {
      if (!taken_.contains(name)) report_.missing.push_back(name);
    }
    std::sort(report_.unexpected.begin(), report_.unexpected.end());
    std::sort(report_.misshaped.begin(), report_.misshaped.end());
    return std::move(report_);
  }

 private:
  void take(std::size_t index) {
    const StoredTensor& tensor = file_->tensors()[index];
    std::string name = own_name(tensor.name);
    const auto begins = [&name](const std::string& prefix) { return name.starts_with(prefix); };
    if (std::ranges::any_of(left_, begins)) return;
    const auto tie = ties_.find(name);
    const bool is_tied = tie != ties_.end();
    if (is_tied) name = tie->second;
    const auto found = wanted_.find(name);
    if (found == wanted_.end()) {
      // Ignores a buffer of 0, 1, 2, ... that some versions of transformers stored.
      if (!name.ends_with("embeddings.position_ids")) {
        report_.unexpected.push_back(printable(tensor.name));
      }
      return;
    }
    const auto [before, is_first] = taken_.emplace(name, tensor.name);
    if (!is_first) {
      const bool other_is_tied = ties_.contains(own_name(before->second));
      if (is_tied || other_is_tied) {
        if (reads_) require_equal(index, found->second, before->second);
        return;
      }
      throw Error(ErrorCode::invalid_argument,
                  concat(path_, ": ", in_quotes(before->second), " and ", in_quotes(tensor.name),
                         " are both ", name));
    }
    Tensor& values = found->second;
    if (values.sizes() != at::IntArrayRef(tensor.shape)) {
      report_.misshaped.push_back(concat(tensor.name, ": ", shape_text(tensor.shape),
                                         " in the file, ", shape_text(values.sizes()), " here"));
      return;
    }
    if (!reads_) return;
    // Reads a tensor that is stored in the parameter's own format directly into the parameter.
    if (scalar_type(tensor, path_) == at::kFloat && values.is_contiguous() && values.is_cpu()) {
      file_->read(index, values.data_ptr());
    } else {
      values.copy_(stored(index));
    }
  }

  [[nodiscard]] std::string own_name(std::string name) const {
    if (name.starts_with(prefix_)) name.erase(0, prefix_.size());
    name = modern_name(std::move(name));
    // A file of an encoder without a head has its names without the prefix.
    const std::string whole = encoder_ + name;
    return wanted_.contains(whole) || ties_.contains(whole) ? whole : name;
  }

  [[nodiscard]] Tensor stored(std::size_t index) const {
    const StoredTensor& tensor = file_->tensors()[index];
    Tensor values = at::empty(tensor.shape, scalar_type(tensor, path_));
    file_->read(index, values.data_ptr());
    return values;
  }

  // The model has one tensor for two names of the file, so two different ones cannot be kept.
  void require_equal(std::size_t index, const Tensor& values, const std::string& other) const {
    const StoredTensor& tensor = file_->tensors()[index];
    if (values.sizes() == at::IntArrayRef(tensor.shape) &&
        at::equal(stored(index).to(at::kFloat), values.cpu())) {
      return;
    }
    throw Error(ErrorCode::invalid_argument,
                concat(path_, ": ", in_quotes(tensor.name), " differs from ", in_quotes(other),
                       "; a model of bp has one weight for both: tie them where the file is made, "
                       "or leave out ",
                       in_quotes(tensor.name)));
  }

  bool reads_;
  std::string path_;
  std::string_view prefix_;
  std::vector<std::string> left_;
  std::string encoder_;  // the prefix of its names
  std::map<std::string, std::string> ties_;
  std::unique_ptr<TensorFile> file_;
  std::map<std::string, Tensor> wanted_;
  std::map<std::string, std::string> taken_;  // the file's name for each of bp's names
  LoadReport report_;
};

}  // namespace

LoadReport load_weights(Bert& model,
                        const std::string& path,
                        const std::vector<std::string>& left,
                        bool reads) {
  const at::NoGradGuard no_grad;
  LoadReport report = Loading(model, named_weights(model), path, "", left, reads)();
  model.parameters_changed();
  return report;
}

LoadReport load_adapters(Bert& model, const std::string& path) {
  const at::NoGradGuard no_grad;
  LoadReport report = Loading(model, saved_parameters(model), path, kAdapterPrefix, {})();
  model.parameters_changed();
  return report;
}

void load_saved(Bert& model, const std::string& folder) {
  const std::string path = concat(folder, "/", weights_file(model));
  const LoadReport report =
      model.lora() == nullptr ? load_weights(model, path) : load_adapters(model, path);
  if (report.complete() && report.unexpected.empty()) return;
  throw Error(ErrorCode::invalid_argument, concat(path, " holds the weights of another model"));
}

}  // namespace bp::trainer
