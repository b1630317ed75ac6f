#include "comm/torch/divided_state.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "comm/torch/divisible.h"
#include "comm/torch/shared_room.h"

namespace bp {
namespace {

using torch::optim::Optimizer;

bool is_in_place(const at::Tensor& tensor, const at::Tensor& place) {
  return place.numel() == tensor.numel() &&
         (place.numel() == 0 || tensor.data_ptr() == place.data_ptr());
}

void move_state(Optimizer& optimizer, const at::Tensor& from, const at::Tensor& to) {
  auto& states = optimizer.state();
  const auto found = states.find(from.unsafeGetTensorImpl());
  if (found == states.end()) return;
  auto state = std::move(found->second);
  states.erase(found);
  states[to.unsafeGetTensorImpl()] = std::move(state);
}

}  // namespace

DividedState::DividedState(Owners& owners,
                           Optimizer& optimizer,
                           std::span<Divided> parameters,
                           std::size_t in_parts,
                           PartOf part_of)
    : owners_(owners),
      optimizer_(optimizer),
      elementwise_(*elementwise(optimizer)),
      all_(parameters),
      divided_(parameters.first(in_parts)),
      whole_(parameters.subspan(owners.are_on_several_hosts() ? in_parts : 0)),
      part_of_(std::move(part_of)) {}

void DividedState::choose_parts() {
  for (Divided& one : divided_) {
    one.own = part_of_(one.number, owners_.rank());
    one.part = slice(one.elements, one.own);
  }
}

DividedState::Moments DividedState::moments(std::span<Divided> parameters, bool in_step) const {
  Moments all;
  for (Divided& one : parameters) {
    const at::Tensor& key = in_step ? one.part : one.parameter;
    const auto found = optimizer_.state().find(key.unsafeGetTensorImpl());
    if (found == optimizer_.state().end()) continue;
    const std::vector<at::Tensor*> tensors = elementwise_.tensors_of(*found->second);
    one.homes.resize(std::max(one.homes.size(), tensors.size()));
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      if (tensors[k]->defined()) all.push_back({one, k, *tensors[k]});
    }
  }
  return all;
}

bool DividedState::settle(bool writes) { return settle(moments(whole_), false, writes); }

bool DividedState::settle(const Moments& all, bool in_step, bool writes) {
  const at::NoGradGuard no_grad;
  Moments homeless;
  std::ranges::copy_if(all, std::back_inserter(homeless),
                       [](const Moment& one) { return !one.home().defined(); });
  std::size_t bytes = 0;
  for (const Moment& one : homeless) bytes += SharedRoom::of(one.tensor, one.of.elements.numel());
  if (bytes > 0) {
    SharedRoom room(owners_.local(), bytes);
    for (const Moment& one : homeless) one.home() = room.take(one.tensor, one.of.elements.numel());
  }
  bool moved = false;
  for (const Moment& one : all) {
    const at::Tensor place = in_step ? slice(one.home(), one.of.own) : one.home();
    const bool moves = !is_in_place(one.tensor, place);
    if (moves && writes) place.copy_(flat(one.tensor));
    one.tensor = formed_as(one.of.parameter, one.home());
    if (moves) give_back_freed(one.home());
    moved |= moves;
  }
  return moved;
}

void DividedState::enter_step() {
  const at::NoGradGuard no_grad;
  choose_parts();
  for (const Moment& one : moments(divided_)) {
    one.tensor = flat(one.tensor);
    if (one.tensor.numel() == one.of.part.numel()) continue;
    one.tensor = slice(one.tensor, one.of.own);
    if (owners_.are_on_several_hosts()) one.tensor = one.tensor.clone();
  }
  for (Divided& one : divided_) move_state(optimizer_, one.parameter, one.part);
}

void DividedState::leave_step() {
  is_in_parts_ = owners_.are_on_several_hosts();
  if (!is_in_parts_) settle(moments(divided_, true), true, true);
  for (Divided& one : divided_) move_state(optimizer_, one.part, one.parameter);
}

// Calls `visit` on rank `root` for each piece of all tensors, of which a rank has its part or, as
// after gather(), all.
void DividedState::bring(const Moments& all,
                         int root,
                         const std::function<void(const Arrived& piece)>& visit) {
  std::vector<Exchanged> mine;
  for (const Moment& one : all) {
    const bool is_whole = one.tensor.numel() == one.of.elements.numel();
    mine.push_back({.elements = flat(one.tensor),
                    .begin = is_whole ? 0 : one.of.own.offset,
                    .number = one.of.number});
  }
  const auto take = [&](const Arrived& piece) {
    if (owners_.rank() == root) visit(piece);
  };
  exchange_parts(mine, {.comm = owners_.comm(), .part_of = part_of_, .arrived = take});
}

void DividedState::gather(int root) {
  if (!is_in_parts_) return;
  const at::NoGradGuard no_grad;
  const Moments all = moments(divided_);
  const bool is_root = owners_.rank() == root;
  std::vector<at::Tensor> whole;
  for (std::size_t i = 0; is_root && i < all.size(); ++i) {
    whole.push_back(at::empty({all[i].of.elements.numel()}, all[i].tensor.options()));
  }
  bring(all, root,
        [&](const Arrived& piece) { slice(whole[piece.index], piece.range).copy_(piece.values); });
  for (std::size_t i = 0; i < whole.size(); ++i) {
    all[i].tensor = formed_as(all[i].of.parameter, whole[i]);
  }
}

void DividedState::stream(const DistributedOptimizer::VisitPiece& visit) {
  if (!is_in_parts_) return;
  const Moments all = moments(divided_);
  bring(all, 0, [&](const Arrived& piece) {
    const Moment& one = all[piece.index];
    visit({one.of.name, one.of.parameter, one.number, piece.range.offset, piece.values});
  });
}

void DividedState::broadcast(int root, const std::function<void()>& broadcast_rest) {
  gather(root);
  std::vector<at::Tensor> taken;
  for (const Moment& one : moments(all_)) {
    taken.push_back(std::exchange(one.tensor, at::empty({0}, one.tensor.options())));
  }
  broadcast_rest();
  const bool is_root = owners_.world_rank() == root;
  if (is_root) {
    auto next = taken.begin();
    for (const Moment& one : moments(all_)) one.tensor = std::move(*next++);
  }
  taken.clear();
  const Moments whole = moments(whole_);
  settle(whole, false, is_root);
  std::vector<at::Tensor> homes;
  for (const Moment& one : whole) homes.push_back(one.home());
  broadcast_between_hosts(owners_, homes, root);
  if (!owners_.are_on_several_hosts()) return;
  is_in_parts_ = true;
  choose_parts();
  const Moments parts = moments(divided_);
  std::vector<Exchanged> given;  // all of each on the root
  for (const Moment& one : parts) {
    given.push_back({.elements = flat(one.tensor), .number = given.size()});
    one.tensor = at::empty(one.of.part.sizes(), given.back().elements.options());
  }
  const auto part_of = [&](std::size_t number, int rank) {
    return all_of(root, parts[number].of.elements.numel(), rank);
  };
  const auto take = [&](const Arrived& piece) {
    copy_overlap(piece, parts[piece.index].tensor, parts[piece.index].of.own);
  };
  exchange_parts(given, {.comm = owners_.comm(), .part_of = part_of, .arrived = take});
}

}  // namespace bp
