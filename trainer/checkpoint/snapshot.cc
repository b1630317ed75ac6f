#include "trainer/checkpoint/snapshot.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/log.h"
#include "trainer/common/whole_file.h"
#include "trainer/model/weights.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/optimizer_state.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

using at::Tensor;

constexpr const char* kMoments = "/optimizer.safetensors";

// Returns memory of the host for the numbers of `tensor`.
Tensor room_for(const Tensor& tensor) {
  return at::empty(tensor.sizes(), tensor.options().device(at::kCPU).requires_grad(false));
}

std::span<const std::byte> bytes_of(const Tensor& dense) {
  return {static_cast<const std::byte*>(dense.const_data_ptr()), dense.nbytes()};
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

NamedTensors named(const Bert& model, const std::vector<Tensor>& averages) {
  NamedTensors result;
  for (std::size_t i = 0; i < averages.size(); ++i) {
    result.emplace_back(model.parameters()[i].first, averages[i]);
  }
  return result;
}

}  // namespace

Snapshot::Snapshot(const Bert& model,
                   std::optional<std::vector<std::string>> moments,
                   bool averaged,
                   bool copies)
    : file_(weights_file(model)),
      moments_(std::move(moments)),
      averaged_(averaged),
      copies_(copies) {
  if (!copies) return;
  for (const auto& [name, values] : saved_tensors(model, model.parameters())) {
    rooms_[name] = room_for(values);
  }
  if (!moments_) return;
  for (const auto& [name, parameter] : saved_parameters(model)) {
    if (averaged) rooms_["weight." + name] = room_for(parameter);
    if (!parameter.requires_grad()) continue;
    for (const std::string& moment : *moments_) {
      rooms_[concat(moment, ".", name)] = room_for(parameter);
    }
  }
}

void Snapshot::prepare() {
  // zero_() would give this thread a team of OpenMP threads, which would stay.
  for (const auto& [name, room] : rooms_) std::memset(room.mutable_data_ptr(), 0, room.nbytes());
}

void Snapshot::take(const Bert& model,
                    torch::optim::Optimizer& optimizer,
                    const std::vector<Tensor>* averages,
                    const NamedTensors& outer) {
  const at::NoGradGuard no_grad;
  weights_.clear();
  state_.clear();
  steps_.clear();
  const NamedTensors weights = averages == nullptr ? model.parameters() : named(model, *averages);
  for (const auto& [name, values] : saved_tensors(model, weights)) {
    keep(weights_, name, values.sizes(), values);
  }
  if (!moments_) return;
  const OptimizerState& state = state_of(optimizer);
  BP_CHECK(state.moment_names() == *moments_, "the snapshot is of another optimizer");
  for (const auto& [name, parameter] : saved_parameters(model)) {
    if (averaged_) keep(state_, "weight." + name, parameter.sizes(), parameter);
    const ParameterState now = state.state_of(parameter);
    if (now.step == 0) continue;
    steps_.emplace_back("step." + name, now.step);
    for (std::size_t m = 0; m < now.moments.size(); ++m) {
      keep(state_, concat((*moments_)[m], ".", name), parameter.sizes(), now.moments[m]);
    }
  }
  for (const auto& [name, values] : outer) keep(state_, "outer." + name, values.sizes(), values);
}

void Snapshot::keep(std::vector<Kept>& kept,
                    const std::string& name,
                    at::IntArrayRef shape,
                    const Tensor& values) {
  if (copies_) {
    Tensor& room = rooms_[name];
    if (!room.defined()) room = room_for(values);
    kept.push_back({name, shape.vec(), room.copy_(values)});
  } else {
    kept.push_back({name, shape.vec(), values.detach().contiguous()});
  }
}

void Snapshot::write(const std::string& folder, DistributedOptimizer* optimizer) {
  const auto items_of = [](const std::vector<Kept>& kept) {
    std::vector<SafetensorsItem> items;
    for (const auto& [name, shape, values] : kept) {
      items.push_back({name, "F32", shape, values.const_data_ptr()});
    }
    return items;
  };
  SafetensorsWriter weights(concat(folder, "/", file_), items_of(weights_));
  std::optional<SafetensorsWriter> state;
  if (moments_) {
    std::vector<SafetensorsItem> items = items_of(state_);
    for (const auto& [name, step] : steps_) items.push_back({name, "I64", {}, &step});
    state.emplace(folder + kMoments, std::move(items));
  }
  if (optimizer != nullptr) {
    optimizer->stream_state([&](const DistributedOptimizer::Piece& piece) {
      if (!piece.moment) {
        write_parameter(weights, piece.parameter);
      } else if (state) {
        state->write_piece(concat((*moments_)[*piece.moment], ".", piece.name),
                           piece.offset * sizeof(float), bytes_of(piece.values));
      }
    });
  }
  weights.finish();
  if (state) state->finish();
  if (copies_) return;
  weights_.clear();
  state_.clear();
}

// It may be saved as several tensors, which are views of it.
void Snapshot::write_parameter(SafetensorsWriter& file, const Tensor& parameter) const {
  for (const auto& [name, shape, values] : weights_) {
    if (values.is_alias_of(parameter)) file.write_piece(name, 0, bytes_of(values));
  }
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
    for (const auto& [name, text] : options_.texts) {
      write_whole_file(concat(folder, "/", name), text);
    }
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
