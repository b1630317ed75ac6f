// Gloo's transport with a list of the buffers that Gloo's own collectives create. When a connection
// breaks, Gloo wakes operations whose transfer has not begun, but not those that are sending or
// have received a part (tcp::Pair::signalException). These would wait for their full timeout.
// call_back() wakes the operations of all buffers on the list.
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

  // The transport itself, for buffers that are not to be on the list.
  [[nodiscard]] gloo::transport::Context& transport() { return *transport_; }
  // Makes the present and later waits for all buffers that exist now throw a gloo::IoException.
  void call_back();

 private:
  class Listed;
  using Buffers = std::list<gloo::transport::UnboundBuffer*>;

  // Shared, because a buffer may exist longer than its BufferList.
  struct State {
    std::mutex mutex;
    Buffers buffers;  // guarded by mutex
  };

  const std::shared_ptr<gloo::transport::Context> transport_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace bp::gloo_plugin
