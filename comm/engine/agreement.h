// Finding out who asked for what, once a collective does not get on: every rank that has waited
// shows its header in the store, and whoever sees two that differ can tell all.
#pragma once

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
  // `members`: world ranks by rank in the communicator. `store` must outlive it.
  Agreement(Store& store, std::string group, std::span<const int> members);

  // What this rank asks for as number `sequence`. Seen until forget().
  void show(int rank, const Header& header);
  void forget(int rank, const Header& header);
  // From now on this rank takes part in nothing: `sequence` collectives were its last.
  void leave(int rank, std::uint64_t sequence);

  // What each rank has shown for a collective; who has shown nothing is not in it.
  using Shown = std::map<int, std::string>;
  [[nodiscard]] Shown shown(std::uint64_t sequence);

 private:
  [[nodiscard]] std::string key(std::uint64_t sequence, int rank) const;

  Store& store_;
  const std::string group_;
  const std::span<const int> members_;
};

// "ranks disagree on collective 17: ranks 0, 1 asked for barrier, rank 2 for broadcast of ...", or
// nothing where all that is shown is the same.
[[nodiscard]] std::optional<std::string> disagreement(const Agreement::Shown& shown,
                                                      std::uint64_t sequence,
                                                      const std::string& group);

}  // namespace bp
