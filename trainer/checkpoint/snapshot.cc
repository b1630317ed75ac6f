#include "trainer/checkpoint/snapshot.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/optim/adamw.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/model/safetensors.h"
#include "trainer/model/weights.h"

namespace bp::trainer {
namespace {

using at::Tensor;
using torch::optim::AdamWParamState;

constexpr const char* kWeights = "/model.safetensors";
constexpr const char* kMoments = "/optimizer.safetensors";

struct Moments {
  std::string name;
  Tensor exp_avg;
  Tensor exp_avg_sq;
  std::int64_t step = 0;  // 0: none yet
};

Tensor room_for(const Tensor& tensor) {
  return at::empty(tensor.sizes(), tensor.options().requires_grad(false));
}

SafetensorsItem item(const std::string& name, const Tensor& values) {
  return {name, "F32", values.sizes().vec(), values.const_data_ptr()};
}

AdamWParamState* state_of(torch::optim::Optimizer& optimizer, const Tensor& parameter) {
  const auto found = optimizer.state().find(parameter.unsafeGetTensorImpl());
  if (found == optimizer.state().end()) return nullptr;
  return static_cast<AdamWParamState*>(found->second.get());
}

// Reads named arrays, each at most once.
class Arrays {
 public:
  explicit Arrays(const std::string& path) : path_(path), file_(path) {
    for (const SafetensorsEntry& entry : file_.header().entries) entries_[entry.name] = entry;
  }

  [[nodiscard]] bool has(const std::string& name) const { return entries_.contains(name); }

  void read(const std::string& name, const std::string& type, const Tensor& into) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) refuse(concat("lacks ", name));
    if (found->second.type != type || into.sizes() != at::IntArrayRef(found->second.shape)) {
      refuse(concat("has ", name, " in another shape or type"));
    }
    file_.read(found->second, into.mutable_data_ptr());
    entries_.erase(found);
  }

  void require_all_read() const {
    if (!entries_.empty()) refuse(concat("has ", entries_.begin()->first, ", which fits nothing"));
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument, concat(path_, " ", what));
  }

  std::string path_;
  SafetensorsReader file_;
  std::map<std::string, SafetensorsEntry> entries_;
};

void restore_moments(const std::string& path,
                     const Bert& model,
                     torch::optim::Optimizer& optimizer) {
  Arrays arrays(path);
  for (const auto& [name, parameter] : model.parameters()) {
    if (!arrays.has("step." + name)) continue;
    auto state = std::make_unique<AdamWParamState>();
    state->exp_avg(room_for(parameter));
    state->exp_avg_sq(room_for(parameter));
    const Tensor step = at::empty({}, at::kLong);
    arrays.read("exp_avg." + name, "F32", state->exp_avg());
    arrays.read("exp_avg_sq." + name, "F32", state->exp_avg_sq());
    arrays.read("step." + name, "I64", step);
    state->step(step.item<std::int64_t>());
    optimizer.state()[parameter.unsafeGetTensorImpl()] = std::move(state);
  }
  arrays.require_all_read();
}

}  // namespace

class Snapshot::Impl {
 public:
  explicit Impl(const Bert& model) {
    for (const auto& [name, values] : named_weights(model)) {
      weights.emplace_back(name, room_for(values));
    }
    for (const auto& [name, parameter] : model.parameters()) {
      moments.push_back({name, room_for(parameter), room_for(parameter), 0});
    }
  }

  std::vector<std::pair<std::string, Tensor>> weights;
  std::vector<Moments> moments;
};

Snapshot::Snapshot(const Bert& model) : impl_(std::make_unique<Impl>(model)) {}
Snapshot::~Snapshot() = default;

void Snapshot::prepare() {
  // Not zero_(), which would leave this thread a team of OpenMP threads.
  const auto touch = [](const Tensor& t) { std::memset(t.mutable_data_ptr(), 0, t.nbytes()); };
  for (const auto& [name, values] : impl_->weights) touch(values);
  for (const Moments& moments : impl_->moments) {
    touch(moments.exp_avg);
    touch(moments.exp_avg_sq);
  }
}

void Snapshot::take(const Bert& model, torch::optim::Optimizer& optimizer) {
  const at::NoGradGuard no_grad;
  const auto weights = named_weights(model);
  for (std::size_t i = 0; i < weights.size(); ++i)
    impl_->weights[i].second.copy_(weights[i].second);
  for (std::size_t i = 0; i < impl_->moments.size(); ++i) {
    Moments& moments = impl_->moments[i];
    const AdamWParamState* const state = state_of(optimizer, model.parameters()[i].second);
    moments.step = state == nullptr ? 0 : state->step();
    if (state == nullptr) continue;
    moments.exp_avg.copy_(state->exp_avg());
    moments.exp_avg_sq.copy_(state->exp_avg_sq());
  }
}

void Snapshot::write(const std::string& folder) const {
  std::vector<SafetensorsItem> items;
  for (const auto& [name, values] : impl_->weights) items.push_back(item(name, values));
  write_safetensors(folder + kWeights, std::move(items));

  items.clear();
  for (const Moments& moments : impl_->moments) {
    if (moments.step == 0) continue;
    items.push_back(item("exp_avg." + moments.name, moments.exp_avg));
    items.push_back(item("exp_avg_sq." + moments.name, moments.exp_avg_sq));
    items.push_back({"step." + moments.name, "I64", {}, &moments.step});
  }
  write_safetensors(folder + kMoments, std::move(items));
}

std::int64_t count_parameters(const Bert& model) {
  std::int64_t count = 0;
  for (const auto& [name, parameter] : model.parameters()) count += parameter.numel();
  return count;
}

void restore(const std::string& folder, Bert& model, torch::optim::Optimizer& optimizer) {
  const LoadReport report = load_weights(model, folder + kWeights);
  if (!report.complete() || !report.unexpected.empty()) {
    throw Error(ErrorCode::invalid_argument,
                concat(folder, kWeights, " holds the weights of another model"));
  }
  restore_moments(folder + kMoments, model, optimizer);
}

}  // namespace bp::trainer
