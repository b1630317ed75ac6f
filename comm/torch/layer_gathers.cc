#include "comm/torch/layer_gathers.h"

#include <algorithm>
#include <utility>

#include "bp/collective.h"
#include "comm/torch/give_back.h"

namespace bp {

LayerGathers::LayerGathers(Owners& owners,
                           std::vector<std::vector<Exchanged>> layers,
                           PartOf part_of,
                           bool frees)
    : owners_(owners),
      layers_(std::move(layers)),
      between_hosts_(between_hosts(owners, std::move(part_of))),
      frees_(frees),
      is_whole_(layers_.size(), true) {}

void LayerGathers::enter(std::size_t layer) {
  if (is_whole_.at(layer)) return;
  next_[place_] = layer;
  bring(layer);
  // All ranks of the host have left the layer before.
  if (place_.second) free(*place_.second);
  place_ = {place_.second, layer};
  const auto next = next_.find(place_);
  if (next != next_.end() && !is_whole_[next->second]) start(next->second);
}

void LayerGathers::gather() {
  for (std::size_t layer = 0; layer < is_whole_.size(); ++layer) {
    if (!is_whole_[layer]) bring(layer);
  }
  place_ = {};
}

void LayerGathers::leave() {
  finish();
  next_.erase(place_);
  place_ = {};
  for (std::size_t layer = 0; layer < is_whole_.size(); ++layer) free(layer);
  is_whole_.assign(is_whole_.size(), false);
}

void LayerGathers::begin() {
  if (!is_whole_.empty()) start(0);
}

void LayerGathers::start(std::size_t layer) {
  ahead_ = layer;
  if (between_hosts_) finish_ = start_exchange(layers_[layer], *between_hosts_);
}

// Without waiting for the other ranks of the host.
void LayerGathers::finish() {
  if (const auto wait = std::exchange(finish_, nullptr)) wait();
  ahead_.reset();
}

void LayerGathers::bring(std::size_t layer) {
  if (ahead_ && ahead_ != layer) {
    const std::size_t other = *ahead_;
    finish();
    free(other);
  }
  if (!ahead_) start(layer);
  finish();
  barrier(owners_.local(), {.name = "a layer has arrived"});
  is_whole_[layer] = true;
}

// Gives the memory of the parts of other hosts back to the system.
void LayerGathers::free(std::size_t layer) {
  if (!frees_) return;
  is_whole_[layer] = false;
  if (!between_hosts_) return;
  for (const Exchanged& tensor : layers_[layer]) {
    const Block own = between_hosts_->part_of(tensor.number, owners_.host());
    const std::span<std::byte> all = bytes_of(tensor.elements);
    const std::size_t size = tensor.elements.element_size();
    give_back(all.first(own.offset * size));
    give_back(all.subspan((own.offset + own.count) * size));
  }
}

void LayerGathers::visit_all(const std::function<void(const Exchanged& tensor)>& visit) {
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    enter(layer);
    if (owners_.rank() == 0) std::ranges::for_each(layers_[layer], visit);
  }
  if (place_.second) free(*place_.second);
  place_ = {};
}

}  // namespace bp
