// The parameters of a model's layers, which the hosts divide: brings the parts of other hosts when
// a pass is about to read them (options.layers of bp/torch/distributed_optimizer.h).
//
// A pass enters one layer after another. When it enters one, that which followed it the last time
// is brought in the background.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "comm/torch/owners.h"
#include "comm/torch/part_exchange.h"

namespace bp {

class LayerGathers {
 public:
  // All layers are whole. The elements of their parameters lie in memory that the ranks of a host
  // share. `frees`: a host keeps the parts of other hosts only while the layer is in use. `owners`
  // must outlive this object.
  LayerGathers(Owners& owners,
               std::vector<std::vector<Exchanged>> layers,
               PartOf part_of,
               bool frees);

  // Collective, as all that follow. The layer is whole.
  void enter(std::size_t layer);
  // All layers are whole, until the next leave().
  void gather();
  // No rank reads layers any more, so owners may write them.
  void leave();
  // Owners have written them.
  void begin();
  // Enters each layer, and calls `visit` on rank 0 for each of its parameters.
  void visit_all(const std::function<void(const Exchanged& tensor)>& visit);

 private:
  using Place = std::pair<std::optional<std::size_t>, std::optional<std::size_t>>;

  void start(std::size_t layer);
  void finish();
  void bring(std::size_t layer);
  void free(std::size_t layer);

  Owners& owners_;
  const std::vector<std::vector<Exchanged>> layers_;
  const std::optional<Exchange> between_hosts_;  // on the first rank of a host
  const bool frees_;
  std::vector<bool> is_whole_;
  Place place_;                        // the layers before and in which the pass is
  std::map<Place, std::size_t> next_;  // that followed the last time
  std::optional<std::size_t> ahead_;   // on its way
  std::function<void()> finish_;       // on the first rank of a host
};

}  // namespace bp
