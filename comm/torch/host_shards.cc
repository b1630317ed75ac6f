#include "comm/torch/host_shards.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "bp/copy_on_write.h"
#include "comm/torch/shared_room.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

namespace optim = torch::optim;

bool is_member(const at::Tensor& parameter, optim::Optimizer& optimizer) {
  return std::ranges::any_of(optimizer.param_groups(), [&](optim::OptimizerParamGroup& group) {
    return std::ranges::any_of(group.params(),
                               [&](const at::Tensor& other) { return other.is_same(parameter); });
  });
}

bool is_shared(const Divided& one) {
  return one.parameter.is_cpu() && one.parameter.data_ptr() == one.elements.data_ptr();
}

}  // namespace

HostShards::HostShards(Owners& owners,
                       const ParameterSet& parameters,
                       optim::Optimizer& optimizer,
                       const Options& options)
    : owners_(owners), optimizer_(optimizer), part_of_(options.part_of) {
  const at::NoGradGuard no_grad;
  sort_parameters(parameters, options.sparse);
  if (parameters.device().is_cpu()) {
    share_parameters();
  } else {
    for (Divided& one : divided_) one.elements = flat(one.parameter);
  }
  share_rows();
  make_layers(options);
  state_.emplace(owners, optimizer, std::span(divided_).first(with_state_), in_parts_, part_of_);
}

void HostShards::sort_parameters(const ParameterSet& parameters,
                                 const std::vector<std::string>& sparse) {
  const bool divides_rows = dynamic_cast<RowSharing*>(&optimizer_) != nullptr;
  std::vector<Divided> by_rows;
  for (std::size_t i = 0; i < parameters.trained.size(); ++i) {
    const auto& [name, parameter] = parameters.trained[i];
    const bool is_sparse = std::ranges::count(sparse, name) > 0;
    if (is_sparse && !(divides_rows && is_member(parameter, optimizer_))) continue;
    (is_sparse ? by_rows : divided_).push_back({.name = name, .parameter = parameter, .number = i});
  }
  in_parts_ = divided_.size();
  divided_.insert(divided_.end(), by_rows.begin(), by_rows.end());
  with_state_ = divided_.size();
  for (const auto& [name, parameter] : parameters.frozen) {
    divided_.push_back({.name = name, .parameter = parameter});
  }
}

void HostShards::share_parameters() {
  std::size_t bytes = 0;
  for (const Divided& one : divided_) {
    bytes += SharedRoom::of(one.parameter, one.parameter.numel());
  }
  SharedRoom room(owners_.local(), bytes);
  memory_ = room.bytes();
  std::vector<at::Tensor> all;
  for (Divided& one : divided_) {
    one.elements = room.adopt(one.parameter, owners_.world_rank() == 0);
    all.push_back(one.elements);
  }
  broadcast_between_hosts(owners_, all, 0);
}

void HostShards::share_rows() {
  if (in_parts_ == with_state_) return;
  auto& rows = dynamic_cast<RowSharing&>(optimizer_);
  for (std::size_t i = in_parts_; i < with_state_; ++i) {
    const at::Tensor& parameter = divided_[i].parameter;
    const auto notes =
        std::make_shared<Buffer>(owners_.local().allocate_shared(rows.bytes_for_rows(parameter)));
    rows.share_rows(parameter, {notes, notes->data()}, owners_.local_rank(),
                    owners_.local().size());
  }
}

void HostShards::make_layers(const Options& options) {
  std::map<std::string, std::size_t> layer_of;
  for (std::size_t layer = 0; layer < options.layers.size(); ++layer) {
    for (const std::string& name : options.layers[layer]) layer_of[name] = layer;
  }
  std::vector<std::vector<Exchanged>> layers(options.layers.size());
  for (const Divided& one : in_parts()) {
    const auto layer = layer_of.find(one.name);
    std::vector<Exchanged>& list = layer == layer_of.end() ? in_no_layer_ : layers[layer->second];
    list.push_back({.elements = one.elements, .number = one.number});
  }
  if (!layers.empty()) {
    layers_.emplace(owners_, std::move(layers), part_of_, options.frees_layers);
  }
}

HostShards::~HostShards() {
  if (owners_.local().size() == 1) return;
  try {
    const std::shared_ptr<std::byte> copy = copy_on_write(owners_.local(), memory_);
    for (Divided& one : divided_) {
      if (!is_shared(one)) continue;
      const auto place = bytes_of(one.elements).data() - memory_.data();
      one.parameter.set_data(formed_as(
          one.parameter, at::from_blob(
                             copy.get() + place, one.elements.sizes(),
                             [copy, shared = one.elements](void*) {}, one.elements.options())));
    }
  } catch (const std::exception&) {  // no memory is left: the parameters stay where they are
  }
}

bool HostShards::has(const at::Tensor& parameter) const {
  return std::ranges::any_of(divided_, [&](const Divided& one) {
    return one.parameter.is_same(parameter) && is_shared(one);
  });
}

void HostShards::broadcast_parameters(int root) {
  std::vector<at::Tensor> shared;
  for (const Divided& one : divided_) {
    if (is_shared(one)) shared.push_back(one.elements);
  }
  broadcast_between_hosts(owners_, shared, root);
}

void HostShards::stream(const DistributedOptimizer::VisitPiece& visit) {
  state_->stream(visit);
  if (!layers_) return;
  layers_->visit_all([&](const Exchanged& tensor) {
    const auto of = std::ranges::find(divided_, tensor.number, &Divided::number);
    visit({of->name, of->parameter, std::nullopt, 0, of->elements});
  });
}

void HostShards::give_parts() {
  state_->enter_step();
  std::unordered_map<const void*, at::Tensor> parts;  // by the parameter
  for (Divided& one : in_parts()) {
    const at::Tensor& gradient = one.parameter.grad();
    one.part.mutable_grad() = gradient.defined() ? slice(flat(gradient), one.own) : at::Tensor();
    parts[one.parameter.unsafeGetTensorImpl()] = one.part;
  }
  for (optim::OptimizerParamGroup& group : optimizer_.param_groups()) {
    members_.push_back(group.params());
    for (at::Tensor& parameter : group.params()) {
      const auto found = parts.find(parameter.unsafeGetTensorImpl());
      if (found != parts.end()) parameter = found->second;
    }
  }
}

void HostShards::take_parts_back() {
  state_->leave_step();
  for (Divided& one : in_parts()) one.part.mutable_grad().reset();
  for (std::size_t group = 0; group < members_.size(); ++group) {
    optimizer_.param_groups()[group].params() = std::move(members_[group]);
  }
  members_.clear();
}

ParameterParts::Place HostShards::place_of(const at::Tensor& part) const {
  for (const Divided& one : divided_) {
    if (one.part.is_same(part)) return {&one.parameter, one.own.offset};
  }
  return {};
}

void HostShards::all_reduce(std::span<double> numbers) const {
  bp::all_reduce(owners_.comm(), view(numbers), {.name = "sums over parameters"});
}

void HostShards::step() {
  barrier(owners_.local(), {.name = "parameters are read"});
  if (state_->settle(owners_.local_rank() == 0)) {
    barrier(owners_.local(), {.name = "shared state"});
  }
  if (layers_) layers_->leave();
  give_parts();
  auto* const own = dynamic_cast<Elementwise*>(&optimizer_);
  if (own != nullptr) own->use_parts(this);
  optimizer_.step();
  if (own != nullptr) own->use_parts(nullptr);
  take_parts_back();
  barrier(owners_.local(), {.name = "parameters are written"});
  if (!owners_.are_on_several_hosts()) return;
  if (const auto exchange = between_hosts(owners_, part_of_)) {
    exchange_parts(in_no_layer_, *exchange);
  }
  barrier(owners_.local(), {.name = "parameters have arrived"});
  if (layers_) layers_->begin();
}

}  // namespace bp
