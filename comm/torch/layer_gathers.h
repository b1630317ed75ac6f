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

#include "comm/torch/host_exchange.h"
#include "comm/torch/owners.h"

namespace bp {

class LayerGathers {
 public:
  // `frees`: a host keeps the parts of other hosts only while the layer is in use.
  struct Options {
    std::vector<std::vector<Exchanged>> layers;
    Exchange exchange;
    bool frees = false;
  };
  // All layers are whole. `owners` must outlive this object.
  LayerGathers(Owners& owners, Options options)
      : owners_(owners), options_(std::move(options)), is_whole_(options_.layers.size(), true) {}

  // Collective, as all that follow. The layer is whole.
  void enter(std::size_t layer);
  // All layers are whole, until the next leave().
  void gather();
  // No rank reads layers any more, so owners may write them.
  void leave();
  // Owners have written them.
  void begin();

 private:
  using Place = std::pair<std::optional<std::size_t>, std::optional<std::size_t>>;

  void start(std::size_t layer);
  void finish();
  void bring(std::size_t layer);
  void free(std::size_t layer);

  Owners& owners_;
  const Options options_;
  std::vector<bool> is_whole_;
  Place place_;                        // the layers before and in which the pass is
  std::map<Place, std::size_t> next_;  // that followed the last time
  std::optional<std::size_t> ahead_;   // on its way
  std::function<void()> finish_;       // on the first rank of a host
};

}  // namespace bp
