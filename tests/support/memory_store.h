// A store within one process, for ranks that are threads: the contract of bp/store.h without
// network. Each rank has its own client; losing one without goodbye fails the job.
#pragma once

#include <memory>

#include "bp/store.h"

namespace bp::test {

class MemoryStoreServer {
 public:
  MemoryStoreServer();
  ~MemoryStoreServer();

  // `rank` joins. Destroying the client without goodbye() means that it was lost.
  [[nodiscard]] std::unique_ptr<Store> connect(int rank);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace bp::test
