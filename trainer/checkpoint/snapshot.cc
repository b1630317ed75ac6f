#include "trainer/checkpoint/snapshot.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <c10/util/accumulate.h>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/log.h"
#include "trainer/common/whole_file.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/model/weights.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/optimizer_state.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

using at::Tensor;

constexpr const char* kMoments = "/optimizer.safetensors";

// What the optimizer keeps for one parameter.
struct KeptState {
  std::string name;  // the parameter's
  std::vector<std::int64_t> shape;
  ParameterState state;
};

// Returns memory of the host for the numbers of `tensor`.
Tensor room_for(const Tensor& tensor) {
  return at::empty(tensor.sizes(), tensor.options().device(at::kCPU).requires_grad(false));
}

SafetensorsItem item(const std::string& name, const Tensor& values) {
  return {name, "F32", values.sizes().vec(), values.const_data_ptr()};
}

// `values`: all, or a part, which is a view of them.
SafetensorsItem item_of_state(const std::string& name,
                              const std::vector<std::int64_t>& shape,
                              const Tensor& values) {
  const bool is_whole = values.numel() == c10::multiply_integers(shape);
  return {name, "F32", shape, is_whole ? values.const_data_ptr() : values.storage().data()};
}

// Reads named arrays, each at most once.
class Arrays {
 public:
  explicit Arrays(const std::string& path) : path_(path), file_(path) {
    for (const SafetensorsEntry& entry : file_.header().entries) entries_[entry.name] = entry;
  }

  [[nodiscard]] bool has(const std::string& name) const { return entries_.contains(name); }

  // `into` lies on the CPU.
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

// Reads the weights that training continues with. Until then the model has their averages.
void restore_trained(Arrays& arrays, Bert& model, std::vector<Tensor>* averages) {
  const at::NoGradGuard no_grad;
  if (averages != nullptr) averages->clear();
  for (const auto& [name, parameter] : model.parameters()) {
    const bool trained_alone = arrays.has("weight." + name);
    // What adapters leave as it is has no average.
    if (!trained_alone && (averages == nullptr || model.lora() == nullptr)) continue;
    if (averages != nullptr) averages->push_back(parameter.detach().clone());
    if (!trained_alone) continue;
    const Tensor trained = room_for(parameter);
    arrays.read("weight." + name, "F32", trained);
    parameter.detach().copy_(trained);
  }
  model.parameters_changed();
}

void restore_state(const std::string& path,
                   Bert& model,
                   OptimizerState& optimizer,
                   std::vector<Tensor>* averages,
                   NamedTensors* outer) {
  const std::vector<std::string> moments = optimizer.moment_names();
  Arrays arrays(path);
  restore_trained(arrays, model, averages);
  for (const auto& [name, parameter] : model.parameters()) {
    if (arrays.has("outer." + name)) {
      const Tensor values = room_for(parameter);
      arrays.read("outer." + name, "F32", values);
      if (outer != nullptr) outer->emplace_back(name, values);
    }
    if (!arrays.has("step." + name)) continue;
    ParameterState state;
    for (const std::string& moment : moments) {
      const Tensor values = room_for(parameter);
      arrays.read(concat(moment, ".", name), "F32", values);
      state.moments.push_back(values.to(parameter.device()));
    }
    const Tensor step = at::empty({}, at::kLong);
    arrays.read("step." + name, "I64", step);
    state.step = step.item<std::int64_t>();
    if (parameter.requires_grad()) optimizer.set_state(parameter, state);  // it may be frozen now
  }
  arrays.require_all_read();
}

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

namespace {

NamedTensors named(const Bert& model, const std::vector<Tensor>& averages) {
  NamedTensors result;
  for (std::size_t i = 0; i < averages.size(); ++i) {
    result.emplace_back(model.parameters()[i].first, averages[i]);
  }
  return result;
}

}  // namespace

class Snapshot::Impl {
 public:
  Impl(const Bert& model,
       std::optional<std::vector<std::string>> names,
       bool averaged,
       bool with_copies)
      : copies(with_copies) {
    const auto room_for = [this](const Tensor& tensor) {
      return copies ? trainer::room_for(tensor) : Tensor();
    };
    file = weights_file(model);
    for (const auto& [name, values] : saved_tensors(model, model.parameters())) {
      weights.emplace_back(name, room_for(values));
    }
    if (!names) return;
    with_state = true;
    moments = *std::move(names);
    for (const auto& [name, parameter] : saved_parameters(model)) {
      if (averaged) trained.emplace_back("weight." + name, room_for(parameter));
      KeptState& kept = states.emplace_back(KeptState{name, parameter.sizes().vec(), {}});
      BP_CHECK(copies || parameter.is_contiguous(), "pieces are in the order of memory");
      if (!parameter.requires_grad()) continue;
      for (std::size_t i = 0; i < moments.size(); ++i) {
        kept.state.moments.push_back(room_for(parameter));
      }
    }
  }

  // Copies `values` to where `kept` has memory.
  void keep(Tensor& kept, const Tensor& values) const {
    if (copies) {
      kept.copy_(values);
    } else {
      kept = values.detach().contiguous();
    }
  }

  const bool copies;
  std::string file;  // of the weights
  bool with_state = false;
  std::vector<std::string> moments;
  std::vector<std::pair<std::string, Tensor>> weights;
  std::vector<std::pair<std::string, Tensor>> trained;  // weights, if the others are averages
  std::vector<KeptState> states;
  std::vector<std::pair<std::string, Tensor>> outer;
};

Snapshot::Snapshot(const Bert& model,
                   std::optional<std::vector<std::string>> moments,
                   bool averaged,
                   bool copies)
    : impl_(std::make_unique<Impl>(model, std::move(moments), averaged, copies)) {}
Snapshot::~Snapshot() = default;

void Snapshot::prepare() {
  if (!impl_->copies) return;
  // zero_() would give this thread a team of OpenMP threads, which would stay.
  const auto touch = [](const Tensor& t) { std::memset(t.mutable_data_ptr(), 0, t.nbytes()); };
  for (const auto& [name, values] : impl_->weights) touch(values);
  for (const auto& [name, values] : impl_->trained) touch(values);
  for (const KeptState& kept : impl_->states) {
    for (const Tensor& moment : kept.state.moments) touch(moment);
  }
}

void Snapshot::take(const Bert& model,
                    torch::optim::Optimizer& optimizer,
                    const std::vector<Tensor>* averages,
                    const NamedTensors& outer) {
  const at::NoGradGuard no_grad;
  const NamedTensors weights =
      saved_tensors(model, averages == nullptr ? model.parameters() : named(model, *averages));
  const NamedTensors parameters = saved_parameters(model);
  for (std::size_t i = 0; i < impl_->trained.size(); ++i) {
    impl_->keep(impl_->trained[i].second, parameters[i].second);
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    impl_->keep(impl_->weights[i].second, weights[i].second);
  }
  if (!impl_->with_state) return;
  const OptimizerState& optimizer_state = state_of(optimizer);
  BP_CHECK(optimizer_state.moment_names() == impl_->moments,
           "the snapshot is of another optimizer");
  for (std::size_t i = 0; i < impl_->states.size(); ++i) {
    const ParameterState now = optimizer_state.state_of(parameters[i].second);
    ParameterState& kept = impl_->states[i].state;
    kept.step = now.step;
    if (now.step == 0) continue;
    for (std::size_t m = 0; m < kept.moments.size(); ++m) {
      impl_->keep(kept.moments[m], now.moments[m]);
    }
  }
  impl_->outer.resize(outer.size());
  for (std::size_t i = 0; i < outer.size(); ++i) {
    auto& [name, values] = impl_->outer[i];
    if (!values.defined()) values = room_for(outer[i].second);
    name = "outer." + outer[i].first;
    impl_->keep(values, outer[i].second);
  }
}

void Snapshot::write(const std::string& folder, DistributedOptimizer* optimizer) const {
  std::vector<SafetensorsItem> weights;
  for (const auto& [name, values] : impl_->weights) weights.push_back(item(name, values));
  std::vector<SafetensorsItem> state;
  for (const auto& [name, values] : impl_->trained) state.push_back(item(name, values));
  for (const auto& [name, values] : impl_->outer) state.push_back(item(name, values));
  for (const auto& [name, shape, kept] : impl_->states) {
    if (kept.step == 0) continue;
    for (std::size_t m = 0; m < kept.moments.size(); ++m) {
      state.push_back(item_of_state(concat(impl_->moments[m], ".", name), shape, kept.moments[m]));
    }
    state.push_back({"step." + name, "I64", {}, &kept.step});
  }
  const auto stream = [optimizer](const std::vector<const WritePiece*>& files) {
    if (optimizer == nullptr) return;
    optimizer->stream_state([&](const std::string& /*parameter*/, const Tensor& piece) {
      const Tensor values = piece.cpu();
      const std::span bytes(static_cast<const std::byte*>(values.const_data_ptr()),
                            values.nbytes());
      for (const WritePiece* const write : files) (*write)(piece.const_data_ptr(), bytes);
    });
  };
  const std::string path = concat(folder, "/", impl_->file);
  if (!impl_->with_state) {
    return write_safetensors(path, std::move(weights), [&](const WritePiece& w) { stream({&w}); });
  }
  write_safetensors(path, std::move(weights), [&](const WritePiece& w) {
    write_safetensors(folder + kMoments, std::move(state), [&](const WritePiece& s) {
      stream({&w, &s});
    });
  });
}

std::int64_t count_parameters(const Bert& model) {
  std::int64_t count = 0;
  for (const auto& [name, parameter] : saved_parameters(model)) count += parameter.numel();
  return count;
}

void restore(const std::string& folder,
             Bert& model,
             torch::optim::Optimizer* optimizer,
             std::vector<Tensor>* averages,
             NamedTensors* outer) {
  load_saved(model, folder);
  if (optimizer != nullptr) {
    restore_state(folder + kMoments, model, state_of(*optimizer), averages, outer);
  }
}

Checkpoints::Checkpoints(const CheckpointsOptions& options, const Bert& model)
    : options_(options),
      snapshot_(model, options.moments, options.averaged, options.copies),
      writer_(options.folder,
              {.last = options.keep, .every = options.keep_every},
              options.last,
              options.published) {
  writer_.before_the_first([this] { snapshot_.prepare(); });
}

void Checkpoints::save(const CheckpointState& state,
                       const Bert& model,
                       DistributedOptimizer& optimizer,
                       const std::vector<at::Tensor>* averages) {
  if (writer_.last_begun() == state.step) return;
  const auto begin = Clock::now();
  writer_.wait();
  const auto waited = Clock::now();
  snapshot_.take(model, optimizer.optimizer(), averages, optimizer.state().outer_momentum);
  writer_.start(state, [this, &optimizer](const std::string& folder) {
    snapshot_.write(folder, options_.copies ? nullptr : &optimizer);
    for (const auto& [name, text] : options_.texts)
      write_whole_file(concat(folder, "/", name), text);
    options_.before_publishing();
  });
  if (!options_.copies) writer_.wait();
  const auto end = Clock::now();
  log(LogLevel::debug,
      concat("checkpoint of step ", state.step, ": training stopped for ",
             fixed(milliseconds(end - begin), 1), " ms, ", fixed(milliseconds(waited - begin), 1),
             " of them for the previous one"));
}

}  // namespace bp::trainer
