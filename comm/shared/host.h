// What the ranks of one host share: the arenas of all, mapped by all, and a link between each two
// of them by whose end a rank notices that another's process is gone.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/shared_memory.h"
#include "comm/shared/arena.h"

namespace bp {

class SharedHost {
 public:
  struct Neighbour {
    std::byte* memory = nullptr;  // their arena, as mapped here
    Fd link;                      // none to oneself
    SharedMemory mapping;         // none where somebody else keeps it
  };

  // `neighbours` by rank on this host, our own arena among them. `first`: the world rank of rank 0
  // here.
  SharedHost(std::shared_ptr<Arena> own, std::vector<Neighbour> neighbours, int first)
      : own_(std::move(own)), neighbours_(std::move(neighbours)), first_(first) {}

  [[nodiscard]] Arena& own() { return *own_; }
  [[nodiscard]] int first() const { return first_; }
  [[nodiscard]] std::byte* at(int rank, std::size_t offset) const {
    return neighbours_[static_cast<std::size_t>(rank)].memory + offset;
  }
  // Finds memory for a part of an arena and a place for it in our page tables.
  void map(int rank, std::size_t offset, std::size_t bytes) const;
  // Its process has ended, or has destroyed its communicators.
  [[nodiscard]] bool is_gone(int rank) const;

 private:
  std::shared_ptr<Arena> own_;
  std::vector<Neighbour> neighbours_;
  int first_;
};

}  // namespace bp
