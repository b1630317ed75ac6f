// A store within one process, for ranks that are threads. It keeps the contract of bp/store.h
// without a network. Each rank has its own client; a client that is destroyed without goodbye()
// fails the job.
#pragma once

#include <memory>

#include "bp/store.h"

namespace bp::test {

class MemoryStoreServer {
 public:
  MemoryStoreServer();
  ~MemoryStoreServer();

  // Connects `rank`. Destroying the client without goodbye() means that the rank was lost.
  [[nodiscard]] std::unique_ptr<Store> connect(int rank);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace bp::test
