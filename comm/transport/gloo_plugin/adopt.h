// A Gloo transport made of connections that exist already.
//
// A Pair of Gloo's, one connection, opens a listener of its own in its constructor and takes
// whatever connects first for the peer. The pairs here close that listener before Gloo's thread can
// accept from it, and take a given connection in its place.
#pragma once

#include <gloo/transport/context.h>
#include <gloo/transport/device.h>

#include <chrono>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bp::gloo_plugin {

// Owns descriptors until they are taken; closes the rest.
class Connections {
 public:
  explicit Connections(std::span<const int> all) : all_(all.begin(), all.end()) {}
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  // -1 where there is none.
  [[nodiscard]] int take(std::size_t which) { return std::exchange(all_[which], -1); }

 private:
  std::vector<int> all_;
};

// `connections`: to each rank, and none to `rank` itself. `device` must be one of TCP. A connection
// that has ended already makes a pair on which every operation fails.
[[nodiscard]] std::shared_ptr<gloo::transport::Context> adopt_connections(
    const std::shared_ptr<gloo::transport::Device>& device,
    int rank,
    Connections& connections,
    std::chrono::milliseconds timeout);

}  // namespace bp::gloo_plugin
