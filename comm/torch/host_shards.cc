// Longer than 400 lines, because whatever moves the state has to keep the same promise about where
// it lies.
#include "comm/torch/host_shards.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "bp/copy_on_write.h"
#include "comm/torch/divisible.h"
#include "comm/torch/give_back.h"
#include "comm/torch/host_exchange.h"
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

// `flat` may have this part alone.
at::Tensor part_of(const at::Tensor& flat, const Block& block) {
  if (flat.numel() == static_cast<std::int64_t>(block.count)) return flat;
  return flat.narrow(0, static_cast<std::int64_t>(block.offset),
                     static_cast<std::int64_t>(block.count));
}

bool is_in_place(const at::Tensor& tensor, const at::Tensor& place) {
  return place.numel() == tensor.numel() &&
         (place.numel() == 0 || tensor.data_ptr() == place.data_ptr());
}

std::span<std::byte> bytes_of(const at::Tensor& dense) {
  return {static_cast<std::byte*>(dense.data_ptr()), dense.nbytes()};
}

}  // namespace

HostShards::HostShards(Owners& owners,
                       const ParameterSet& parameters,
                       optim::Optimizer& optimizer,
                       Options options)
    : owners_(owners),
      optimizer_(optimizer),
      elementwise_(*elementwise(optimizer)),
      part_of_(options.part_of),
      is_on_device_(!parameters.device().is_cpu()) {
  const at::NoGradGuard no_grad;
  const bool divides_rows = dynamic_cast<RowSharing*>(&optimizer) != nullptr;
  std::vector<Divided> by_rows;
  for (std::size_t i = 0; i < parameters.trained.size(); ++i) {
    const auto& [name, parameter] = parameters.trained[i];
    const bool is_sparse = std::ranges::count(options.sparse, name) > 0;
    if (is_sparse && !(divides_rows && is_member(parameter, optimizer))) continue;
    (is_sparse ? by_rows : divided_).push_back({.parameter = parameter, .number = i});
  }
  in_parts_ = divided_.size();
  std::ranges::move(by_rows, std::back_inserter(divided_));
  with_state_ = divided_.size();
  for (const Parameter& frozen : parameters.frozen) {
    divided_.push_back({.parameter = frozen.tensor});
  }
  if (is_on_device_) {
    for (Divided& one : divided_) one.shared = flat(one.parameter.variable_data());
    make_layers(parameters, options);
    return;
  }
  std::size_t bytes = 0;
  for (const Divided& one : divided_) {
    bytes += SharedRoom::of(one.parameter, one.parameter.numel());
  }
  SharedRoom room(owners.local(), bytes);
  memory_ = room.bytes();
  for (Divided& one : divided_) {
    one.shared = room.adopt(one.parameter, owners.world_rank() == 0);
  }
  broadcast_parameters(0);
  share_rows();
  make_layers(parameters, options);
}

void HostShards::make_layers(const ParameterSet& parameters, const Options& options) {
  LayerGathers::Options gathers{.layers = decltype(gathers.layers)(options.layers.size()),
                                .exchange = {.part_of = part_of_},
                                .frees = options.frees_layers};
  for (const Divided& one : std::span(divided_).first(in_parts_)) {
    const std::string& name = parameters.trained[one.number].name;
    const auto layer = std::ranges::find_if(
        options.layers,
        [&](const std::vector<std::string>& names) { return std::ranges::count(names, name) > 0; });
    if (layer == options.layers.end()) {
      in_no_layer_.push_back(exchanged(one));
      continue;
    }
    gathers.layers[static_cast<std::size_t>(layer - options.layers.begin())].push_back(
        exchanged(one));
    in_layers_.push_back(exchanged(one));
  }
  if (!options.layers.empty()) layers_.emplace(owners_, std::move(gathers));
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

HostShards::~HostShards() {
  if (owners_.local().size() == 1) return;
  try {
    const std::shared_ptr<std::byte> copy = copy_on_write(owners_.local(), memory_);
    for (Divided& one : divided_) {
      if (!is_shared(one)) continue;
      const auto place = bytes_of(one.shared).data() - memory_.data();
      one.parameter.set_data(
          whole(one, at::from_blob(
                         copy.get() + place, one.shared.sizes(),
                         [copy, shared = one.shared](void*) {}, one.shared.options())));
    }
  } catch (const std::exception&) {  // no memory is left: the parameters stay where they are
  }
}

at::Tensor HostShards::whole(const Divided& one, const at::Tensor& elements) {
  return elements.as_strided(one.parameter.sizes(), one.parameter.strides());
}

bool HostShards::is_shared(const Divided& one) {
  return one.parameter.is_cpu() && one.parameter.data_ptr() == one.shared.data_ptr();
}

bool HostShards::has(const at::Tensor& parameter) const {
  return std::ranges::any_of(divided_, [&](const Divided& one) {
    return one.parameter.is_same(parameter) && is_shared(one);
  });
}

std::vector<at::Tensor*> HostShards::state_of(const at::Tensor& parameter) const {
  const auto found = optimizer_.state().find(parameter.unsafeGetTensorImpl());
  if (found == optimizer_.state().end()) return {};
  return elementwise_.tensors_of(*found->second);
}

void HostShards::move_state(const at::Tensor& from, const at::Tensor& to) {
  auto& states = optimizer_.state();
  const auto found = states.find(from.unsafeGetTensorImpl());
  if (found == states.end()) return;
  auto state = std::move(found->second);
  states.erase(found);
  states[to.unsafeGetTensorImpl()] = std::move(state);
}

// Visits the state of the first `count` parameters: a tensor, and its home in shared memory, which
// may be undefined. `in_step`: the optimizer has this rank's parts, not whole parameters.
template <class Visit>
void HostShards::for_each_state(std::size_t count, bool in_step, const Visit& visit) {
  for (std::size_t i = 0; i < count; ++i) {
    Divided& one = divided_[i];
    const std::vector<at::Tensor*> tensors = state_of(in_step ? one.part : one.parameter);
    one.state.resize(std::max(one.state.size(), tensors.size()));
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      if (tensors[k]->defined()) visit(one, *tensors[k], one.state[k]);
    }
  }
}

// `writes`: this rank's values count. Returns whether some tensor was elsewhere.
bool HostShards::settle_state(bool in_step, bool writes) {
  const at::NoGradGuard no_grad;
  const std::size_t count = in_step ? in_parts_ : with_state_;
  if (is_on_device_) {  // it stays where it is
    for_each_state(count, in_step,
                   [](const Divided& /*one*/, const at::Tensor& tensor, at::Tensor& home) {
                     if (!tensor.is_same(home)) home = flat(tensor);
                   });
    return false;
  }
  std::size_t bytes = 0;  // of tensors that are new
  for_each_state(count, in_step,
                 [&](const Divided& one, const at::Tensor& tensor, const at::Tensor& home) {
                   if (!home.defined()) bytes += SharedRoom::of(tensor, one.parameter.numel());
                 });
  std::optional<SharedRoom> room;
  if (bytes > 0) room.emplace(owners_.local(), bytes);
  bool moved = false;
  for_each_state(count, in_step, [&](const Divided& one, at::Tensor& tensor, at::Tensor& home) {
    if (!home.defined()) home = room->take(tensor, one.parameter.numel());
    const at::Tensor part = part_of(home, one.own);
    const bool is_part = in_step || (!state_is_whole_ && is_in_place(tensor, part));
    const at::Tensor& place = is_part ? part : home;
    const bool moves = !is_in_place(tensor, place);
    if (moves && writes) at::Tensor(place).copy_(flat(tensor));
    tensor = is_part && !state_is_whole_ ? part : whole(one, home);
    if (moves) give_back_freed(home);
    moved |= moves;
  });
  if (moved && !in_step) has_state_of_other_hosts_ = true;
  return moved;
}

void HostShards::broadcast_parameters(int root) {
  if (!is_on_device_) owners_.broadcast(std::span(&memory_, 1), root);
}

void HostShards::broadcast_state(int root, const std::function<void()>& broadcast_rest) {
  gather_state(root);
  std::vector<at::Tensor> taken;
  for_each_state(with_state_, false,
                 [&](const Divided& /*one*/, at::Tensor& tensor, const at::Tensor& /*home*/) {
                   taken.push_back(std::exchange(tensor, at::empty({0}, tensor.options())));
                 });
  broadcast_rest();
  state_is_whole_ = true;
  const bool is_root = owners_.world_rank() == root;
  auto next = taken.begin();
  for_each_state(with_state_, false,
                 [&](const Divided& /*one*/, at::Tensor& tensor, const at::Tensor& /*home*/) {
                   if (is_root) tensor = std::move(*next++);
                 });
  taken.clear();
  settle_state(false, is_root);
  state_is_divided_ = owners_.are_on_several_hosts();
  if (is_on_device_) {
    const auto all_of_root = [&](std::size_t i, int owner) -> Block {
      const Block last = part_of_(i, owners_.size() - 1);
      return {.count = owner == root ? last.offset + last.count : 0};
    };
    exchange_state(all_of_root, std::nullopt);
    return leave_in_parts();
  }
  for_each_state(with_state_, false,
                 [&](const Divided& one, const at::Tensor& /*tensor*/, const at::Tensor& home) {
                   const std::span<std::byte> bytes = bytes_of(home);
                   owners_.broadcast(std::span(&bytes, 1), root);
                   if (!state_is_divided_ || &one >= divided_.data() + in_parts_) return;
                   free_parts_of_other_hosts(owners_, {.elements = home, .parameter = one.number},
                                             part_of_);
                 });
  if (state_is_divided_) leave_in_parts();
}

void HostShards::choose_part(Divided& one) {
  const Block block = part_of_(one.number, owners_.rank());
  if (one.part.defined() && block.offset == one.own.offset && block.count == one.own.count) return;
  one.own = block;
  one.part = part_of(one.shared, block);
}

void HostShards::divide() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < in_parts_; ++i) {
    Divided& one = divided_[i];
    choose_part(one);
    const Block& block = one.own;
    const at::Tensor& gradient = one.parameter.grad();
    one.part.mutable_grad() = gradient.defined() ? part_of(flat(gradient), block) : at::Tensor();
    const std::vector<at::Tensor*> tensors = state_of(one.parameter);
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      if (!tensors[k]->defined()) continue;
      *tensors[k] = part_of(one.state[k], block);
      const bool frees = is_on_device_ && !tensors[k]->is_same(one.state[k]);
      if (frees) one.state[k] = *tensors[k] = tensors[k]->clone();
    }
    move_state(one.parameter, one.part);
    parts_[one.parameter.unsafeGetTensorImpl()] = one.part;
  }
  for (optim::OptimizerParamGroup& group : optimizer_.param_groups()) {
    members_.push_back(group.params());
    for (at::Tensor& parameter : group.params()) {
      const auto found = parts_.find(parameter.unsafeGetTensorImpl());
      if (found != parts_.end()) parameter = found->second;
    }
  }
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

void HostShards::unite() {
  state_is_divided_ = owners_.are_on_several_hosts();
  state_is_whole_ = !state_is_divided_;
  gathered_.reset();
  settle_state(true, true);
  for (std::size_t i = 0; i < in_parts_; ++i) {
    divided_[i].part.mutable_grad().reset();
    move_state(divided_[i].part, divided_[i].parameter);
  }
  for (std::size_t group = 0; group < members_.size(); ++group) {
    optimizer_.param_groups()[group].params() = std::move(members_[group]);
  }
  members_.clear();
}

std::vector<Exchanged> HostShards::divided_state() {
  std::vector<Exchanged> all;
  for_each_state(in_parts_, false,
                 [&](const Divided& one, const at::Tensor& /*tensor*/, const at::Tensor& home) {
                   all.push_back({.elements = home, .parameter = one.number});
                 });
  return all;
}

// On devices: each rank has the elements that part_before() says. Gives rank `to` all of them, or
// each rank those that part_of_() says. Only one tensor is whole at a time.
void HostShards::exchange_state(const PartOf& part_before, std::optional<int> to) {
  for_each_state(in_parts_, false, [&](const Divided& one, at::Tensor& tensor, at::Tensor& home) {
    const at::Tensor all = at::empty({one.parameter.numel()}, home.options());
    const Block own = part_before(one.number, owners_.rank());
    part_of(all, own).copy_(part_of(home, own));
    const Exchanged exchanged{.elements = all, .parameter = one.number};
    exchange_between_hosts(owners_, std::span(&exchanged, 1), {.part_of = part_before, .to = to});
    if (to.value_or(owners_.rank()) != owners_.rank()) return;
    home = tensor = to ? all : part_of(all, part_of_(one.number, owners_.rank())).clone();
  });
}

void HostShards::gather_state(int root) {
  const int host = owners_.host_of(root);
  if (!state_is_divided_ || gathered_ == host) return;
  (void)settle_state(false, owners_.local_rank() == 0);
  gathered_ = host;
  if (is_on_device_) {
    exchange_state(part_of_, host);
  } else {
    exchange_on_host(divided_state(), {.part_of = part_of_, .to = host});
  }
  if (owners_.host() != host) return;
  state_is_whole_ = has_state_of_other_hosts_ = true;
  for_each_state(in_parts_, false,
                 [](const Divided& one, at::Tensor& tensor, const at::Tensor& home) {
                   tensor = whole(one, home);
                 });
}

void HostShards::stream_state(const std::function<void(const Exchanged& piece)>& visit) {
  if (is_on_device_) {
    if (layers_) layers_->gather();
    return gather_state(0);
  }
  std::vector<Exchanged> all;
  if (state_is_divided_) {
    (void)settle_state(false, owners_.local_rank() == 0);
    all = divided_state();
  }
  leave_layers();
  all.insert(all.end(), in_layers_.begin(), in_layers_.end());
  exchange_on_host(all, {.part_of = part_of_, .to = 0, .arrived = [&](const Exchanged& piece) {
                           if (owners_.host() != 0) return;
                           visit(piece);
                           free_parts_of_other_hosts(owners_, piece, part_of_);
                         }});
  if (layers_) layers_->begin();
  if (state_is_divided_) leave_in_parts();
}

void HostShards::leave_layers() {
  if (!layers_) return;
  barrier(owners_.local(), {.name = "layers are read"});
  layers_->leave();
}

// A rank that is not the first of its host waits for the first one, which may wait for a disk. It
// ends at once if that one ends.
void HostShards::exchange_on_host(std::span<const Exchanged> tensors, const Exchange& exchange) {
  barrier(owners_.local(), {.name = "tensors are written"});
  if (owners_.leaders() != nullptr) exchange_between_hosts(owners_, tensors, exchange);
  barrier(owners_.local(), {.name = "tensors have arrived", .timeout = std::chrono::hours(1)});
}

// By number of the parameter and owner.
std::vector<std::vector<Block>> HostShards::parts() const {
  std::vector<std::vector<Block>> all;
  for (std::size_t i = 0; i < in_parts_; ++i) {
    const std::size_t number = divided_[i].number;
    all.resize(number + 1);
    for (int owner = 0; owner < owners_.size(); ++owner) {
      all[number].push_back(part_of_(number, owner));
    }
  }
  return all;
}

// A host has the parts of others for a moment only.
void HostShards::while_parts_change(const std::function<void()>& change) {
  if (!state_is_divided_) return change();
  (void)settle_state(false, owners_.local_rank() == 0);
  leave_layers();
  const PartOf part_before = [all = parts()](std::size_t i, int owner) {
    return all[i][static_cast<std::size_t>(owner)];
  };
  change();
  if (is_on_device_) {
    exchange_state(part_before, std::nullopt);
    exchange_between_hosts(owners_, in_layers_, {.part_of = part_before});
    return leave_in_parts();
  }
  std::vector<Exchanged> moving = divided_state();
  moving.insert(moving.end(), in_layers_.begin(), in_layers_.end());
  exchange_on_host(moving, {.part_of = part_before, .arrived = [&](const Exchanged& piece) {
                              free_parts_of_other_hosts(owners_, piece, part_of_);
                            }});
  leave_in_parts();
}

// This host has its parts, and each rank sees its own.
void HostShards::leave_in_parts() {
  state_is_whole_ = false;
  gathered_.reset();
  for (std::size_t i = 0; i < in_parts_; ++i) choose_part(divided_[i]);
  for_each_state(in_parts_, false,
                 [](const Divided& one, at::Tensor& tensor, const at::Tensor& home) {
                   tensor = part_of(home, one.own);
                 });
}

// Between the barriers of a step.
void HostShards::free_state_of_other_hosts() {
  const bool has_some = std::exchange(has_state_of_other_hosts_, false);
  const bool can_free = owners_.are_on_several_hosts() && !is_on_device_;
  if (!has_some || !can_free || owners_.leaders() == nullptr) return;
  for (const Exchanged& tensor : divided_state()) {
    free_parts_of_other_hosts(owners_, tensor, part_of_);
  }
}

void HostShards::step() {
  barrier(owners_.local(), {.name = "parameters are read"});
  if (settle_state(false, owners_.local_rank() == 0)) {
    barrier(owners_.local(), {.name = "shared state"});
  }
  free_state_of_other_hosts();
  if (layers_) layers_->leave();
  divide();
  auto* const own = dynamic_cast<Elementwise*>(&optimizer_);
  if (own != nullptr) own->use_parts(this);
  optimizer_.step();
  if (own != nullptr) own->use_parts(nullptr);
  unite();
  barrier(owners_.local(), {.name = "parameters are written"});
  if (!owners_.are_on_several_hosts()) return;
  if (owners_.leaders() != nullptr) {
    exchange_between_hosts(owners_, in_no_layer_, {.part_of = part_of_});
  }
  barrier(owners_.local(), {.name = "parameters have arrived"});
  if (layers_) layers_->begin();
}

}  // namespace bp
