// The hierarchical all-reduce for hosts with any numbers of ranks: what is near is fast, so each
// host first makes one vector of its ranks' vectors, and only that goes over the wire.
//
//   hosts with 3 and 2 ranks; the smallest has 2, so 2 rails; the vector is cut into 2 shares
//
//   rank             0      1      2         3      4
//   inside, reduce   012.   .012   .         34.    .34      rank l of a host reduces share l
//   between          A.     .A     .         A.     .A       share 0: 0 with 3; share 1: 1 with 4
//   inside, gather   AA     AA     AA        AA     AA       everybody gets all shares
//
// There are as many rails as the smallest host has ranks: each is one rank of every host, of the
// same number there. With a single rank on some host that is one rail, of the hosts' leaders. More
// rails do not send more, but more processes send it.
//
// A share is reduced once on each host, then by one algorithm between the hosts, and then copied:
// all ranks hold the same bits.
//
// Cost for n hosts with m ranks each, of which k are rails: inside a host S (beta + gamma) there to
// reduce and S beta to gather; between hosts the cost of the chosen algorithm for n ranks and S/k
// bytes, k of them at once over each host's link, so 2 (n-1)/n S beta where it is the ring. A flat
// ring has 2 (P-1)/P S beta there: hosts of 3 and 1 ranks take two thirds of its time.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "base/check.h"

namespace bp {

class Hierarchy {
 public:
  // `local_sizes`: how many ranks each host has, in the order of ranks. No more than `most` rails.
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

  [[nodiscard]] int local_rank() const { return local_rank_; }
  [[nodiscard]] int local_size() const { return local_sizes_[static_cast<std::size_t>(host_)]; }
  // How many shares there are, each of which one rank of every host carries.
  [[nodiscard]] int rails() const { return rails_; }
  // The share that this rank carries; -1 for none.
  [[nodiscard]] int share() const { return local_rank_ < rails_ ? local_rank_ : -1; }

  [[nodiscard]] std::vector<int> host_ranks() const {  // this host's, ours among them
    std::vector<int> ranks(static_cast<std::size_t>(local_size()));
    std::iota(ranks.begin(), ranks.end(), first_);
    return ranks;
  }
  [[nodiscard]] std::vector<int> rail_ranks() const {  // one a host, ours among them
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
  int first_ = 0;  // rank of this host
  int local_rank_;
};

}  // namespace bp
