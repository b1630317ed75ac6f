// Finds out which rank asked for what when a collective makes no progress. Every rank that has
// waited shows a hash of its header in the store, and the header as text. A rank that sees two
// different hashes reads the texts, and can fail the job with one that names them.
//
// All ranks append their hashes to one value, so that a look at it is one request, however many
// ranks wait.
//
// Threads: one at a time. All calls throw what the store throws.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bp/store.h"
#include "comm/engine/observe/header.h"

namespace bp {

class Agreement {
 public:
  // `members`: world ranks by rank in the communicator. It and `store` must outlive this object.
  Agreement(Store& store, std::string group, std::span<const int> members);

  // Writes what this rank asks for as collective number header.sequence.
  void show(int rank, const Header& header);
  // This rank has left the collective. The last of the ranks that have shown something deletes it.
  void forget(int rank, const Header& header);
  // This rank takes part in no collective after the first `sequence` ones. The last rank to leave
  // deletes every key of the communicator.
  void leave(int rank, std::uint64_t sequence);

  // By rank, a hash of what each rank in this collective asks for. A rank that has shown nothing,
  // or has left it, is not in it.
  using Shown = std::map<int, std::uint64_t>;
  [[nodiscard]] Shown shown(std::uint64_t sequence);
  // The same as texts.
  using Texts = std::map<int, std::string>;
  [[nodiscard]] Texts texts(std::uint64_t sequence, const Shown& shown);

 private:
  void show_text(int rank, std::uint64_t sequence, std::string_view text);
  [[nodiscard]] std::string prefix(std::uint64_t sequence) const;
  [[nodiscard]] std::string text_key(std::uint64_t sequence, std::uint64_t hash) const;

  Store& store_;
  const std::string group_;
  const std::span<const int> members_;
};

// Returns "ranks disagree on collective 17: ranks 0, 1 asked for barrier, rank 2 for broadcast of
// ...", or nothing if all ranks have shown the same.
[[nodiscard]] std::optional<std::string> disagreement(const Agreement::Texts& shown,
                                                      std::uint64_t sequence,
                                                      const std::string& group);

}  // namespace bp
