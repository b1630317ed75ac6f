#include "comm/torch/layer_gathers.h"

#include <algorithm>
#include <utility>

#include "bp/collective.h"

namespace bp {

void LayerGathers::enter(std::size_t layer) {
  if (is_whole_.at(layer)) return;
  next_[place_] = layer;
  bring(layer);
  // All ranks of the host have left the layer before.
  if (options_.frees && place_.second) free(*place_.second);
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
  for (std::size_t layer = 0; options_.frees && layer < is_whole_.size(); ++layer) free(layer);
  is_whole_.assign(is_whole_.size(), false);
}

void LayerGathers::begin() {
  if (!is_whole_.empty()) start(0);
}

void LayerGathers::start(std::size_t layer) {
  ahead_ = layer;
  if (owners_.leaders() == nullptr) return;
  finish_ = start_exchange(owners_, options_.layers[layer], options_.exchange);
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
    if (options_.frees) free(other);
  }
  if (!ahead_) start(layer);
  finish();
  barrier(owners_.local(), {.name = "a layer has arrived"});
  is_whole_[layer] = true;
}

void LayerGathers::free(std::size_t layer) {
  is_whole_[layer] = false;
  if (owners_.leaders() == nullptr) return;
  for (const Exchanged& tensor : options_.layers[layer]) {
    free_parts_of_other_hosts(owners_, tensor, options_.exchange.part_of);
  }
}

}  // namespace bp
