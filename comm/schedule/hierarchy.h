// Collectives over hosts with any numbers of ranks: inside each host, between the hosts, inside
// again. Memory is faster than a network, so each host first makes one vector of its ranks', and
// only that goes over the network.
//
// One rank of each host, its leader, takes part between the hosts: its first rank, or the root on
// the root's host. What a host's ranks give to a gather, or get from a scatter, is one block there,
// because the ranks of a host follow each other.
//
// An all-reduce has several leaders on each host, if it can:
//
//   hosts with 3 and 2 ranks; the smallest has 2, so there are 2 rails, and the vector has 2 shares
//
//   rank             0      1      2         3      4
//   inside, reduce   012.   .012   .         34.    .34      rank l of a host reduces share l
//   between          A.     .A     .         A.     .A       share 0: 0 with 3; share 1: 1 with 4
//   inside, gather   AA     AA     AA        AA     AA       every rank gets all shares
//
// A rail consists of one rank of every host, with the same local rank on each. There are as many
// rails as the smallest host has ranks. If some host has a single rank, there is one rail, of the
// hosts' leaders. More rails do not send more bytes, but more processes send them.
//
// A share is reduced once on each host, then by one algorithm between the hosts, and then copied,
// so all ranks hold the same bits.
//
// Cost for n hosts of m ranks with k rails: inside a host, S (beta + gamma) to reduce and S beta to
// gather, with the beta of its memory; between hosts, the cost of the chosen algorithm for n ranks
// and S/k bytes, of which k run at once over each host's link, so 2 (n-1)/n S beta for the ring. A
// flat ring takes 2 (P-1)/P S beta there: for hosts of 3 and 1 ranks the hierarchy takes two thirds
// of that time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "base/check.h"

namespace bp {

class Hierarchy {
 public:
  // `local_sizes`: the number of ranks of each host, in the order of ranks. `most`: the largest
  // number of rails.
  Hierarchy(int rank, std::span<const int> local_sizes, int most)
      : local_sizes_(local_sizes.begin(), local_sizes.end()),
        rails_(std::min(most, std::ranges::min(local_sizes))),
        local_rank_(rank) {
    BP_CHECK(
        most >= 1 && rank >= 0 && rank < std::accumulate(local_sizes.begin(), local_sizes.end(), 0),
        "a hierarchy needs a rank among its ranks");
    for (; local_rank_ >= local_size(); ++host_) {
      first_ += local_size();
      local_rank_ -= local_size();
    }
  }

  [[nodiscard]] int host() const { return host_; }
  [[nodiscard]] int first() const { return first_; }  // the first rank of this host
  [[nodiscard]] int local_rank() const { return local_rank_; }
  [[nodiscard]] int local_size() const { return local_sizes_[static_cast<std::size_t>(host_)]; }
  // The number of rails, and of shares.
  [[nodiscard]] int rails() const { return rails_; }
  // Returns the share that this rank carries between hosts, or -1.
  [[nodiscard]] int share() const { return local_rank_ < rails_ ? local_rank_ : -1; }

  // Returns each host's leader for an operation from or to `root`.
  [[nodiscard]] std::vector<int> leaders(int root) const {
    std::vector<int> ranks;
    int first = 0;
    for (const int size : local_sizes_) {
      ranks.push_back(first <= root && root < first + size ? root : first);
      first += size;
    }
    return ranks;
  }
  // Returns the sum of each host's `counts`, which are those of all ranks.
  [[nodiscard]] std::vector<std::size_t> counts_of_hosts(
      std::span<const std::size_t> counts) const {
    std::vector<std::size_t> sums;
    for (const int size : local_sizes_) {
      const auto own = counts.first(static_cast<std::size_t>(size));
      sums.push_back(std::accumulate(own.begin(), own.end(), std::size_t{0}));
      counts = counts.subspan(own.size());
    }
    return sums;
  }
  // Returns those of this host's ranks.
  [[nodiscard]] std::vector<std::size_t> counts_of_host(std::span<const std::size_t> counts) const {
    const auto own =
        counts.subspan(static_cast<std::size_t>(first_), static_cast<std::size_t>(local_size()));
    return {own.begin(), own.end()};
  }

  [[nodiscard]] std::vector<int> host_ranks() const {  // all ranks of this host
    std::vector<int> ranks(static_cast<std::size_t>(local_size()));
    std::iota(ranks.begin(), ranks.end(), first_);
    return ranks;
  }
  [[nodiscard]] std::vector<int> rail_ranks() const {  // all ranks of this rank's rail
    std::vector<int> ranks;
    int first = 0;
    for (const int size : local_sizes_) {
      if (share() >= 0) ranks.push_back(first + share());
      first += size;
    }
    return ranks;
  }

 private:
  std::vector<int> local_sizes_;
  int rails_;
  int host_ = 0;
  int first_ = 0;
  int local_rank_;
};

}  // namespace bp
