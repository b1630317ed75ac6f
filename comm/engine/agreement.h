// Finds out which rank asked for what when a collective makes no progress. Every rank that has
// waited shows its header in the store, and a rank that sees two different ones can fail the job
// with a text that names them.
//
// Threads: one at a time. All calls throw what the store throws.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bp/store.h"
#include "comm/engine/header.h"

namespace bp {

class Agreement {
 public:
  // `members`: world ranks by rank in the communicator. It and `store` must outlive this object.
  Agreement(Store& store, std::string group, std::span<const int> members);

  // Writes what this rank asks for as collective number header.sequence. It stays until forget().
  void show(int rank, const Header& header);
  void forget(int rank, const Header& header);
  // This rank takes part in no collective after the first `sequence` ones.
  void leave(int rank, std::uint64_t sequence);

  // What each rank has shown for a collective. A rank that has shown nothing is not in it.
  using Shown = std::map<int, std::string>;
  [[nodiscard]] Shown shown(std::uint64_t sequence);

 private:
  [[nodiscard]] std::string key(std::uint64_t sequence, int rank) const;

  Store& store_;
  const std::string group_;
  const std::span<const int> members_;
};

// Returns "ranks disagree on collective 17: ranks 0, 1 asked for barrier, rank 2 for broadcast of
// ...", or nothing if all ranks have shown the same.
[[nodiscard]] std::optional<std::string> disagreement(const Agreement::Shown& shown,
                                                      std::uint64_t sequence,
                                                      const std::string& group);

}  // namespace bp
