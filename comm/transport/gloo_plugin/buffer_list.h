// Gloo's transport with a list of the buffers that Gloo's own collectives make for themselves. When
// a connection breaks, Gloo tells those who wait for what is still to begin on it, but neither who
// is in the midst of sending nor who has received a part (tcp::Pair::signalException): they would
// wait until their own time is up. Those who are on the list can be called back.
//
// Threads: any.
#pragma once

#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <list>
#include <memory>
#include <mutex>

namespace bp::gloo_plugin {

class BufferList : public gloo::transport::Context {
 public:
  explicit BufferList(std::shared_ptr<gloo::transport::Context> transport);

  std::unique_ptr<gloo::transport::Pair>& getPair(int peer) override;
  std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override;
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data,
                                                                      std::size_t bytes) override;

  // For buffers that need no list.
  [[nodiscard]] gloo::transport::Context& transport() { return *transport_; }
  // What waits or will wait for a buffer that exists now throws a gloo::IoException.
  void call_back();

 private:
  class Listed;
  using Buffers = std::list<gloo::transport::UnboundBuffer*>;

  // Shared, since a buffer may live longer than the list that it is on.
  struct State {
    std::mutex mutex;
    Buffers buffers;  // guarded by mutex
  };

  const std::shared_ptr<gloo::transport::Context> transport_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace bp::gloo_plugin
