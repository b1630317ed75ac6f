#include "trainer/prepare/sorted_digests.h"

#include <algorithm>
#include <queue>
#include <type_traits>

namespace bp::trainer {
namespace {

static_assert(std::has_unique_object_representations_v<NumberedDigest>, "written as its bytes");

// A sorted run in a file, read piece by piece.
class Run {
 public:
  Run(const SpillFile& file, std::int64_t begin, std::int64_t end, std::size_t most)
      : file_(file), next_(begin), end_(end), piece_(most) {
    advance();
  }
  [[nodiscard]] const NumberedDigest& front() const { return piece_[at_]; }
  // Moves to the next digest; returns false at the end.
  bool advance() {
    if (++at_ < count_) return true;
    constexpr std::int64_t kSize = sizeof(NumberedDigest);
    count_ = std::min(piece_.size(), static_cast<std::size_t>((end_ - next_) / kSize));
    at_ = 0;
    const std::size_t bytes = count_ * sizeof(NumberedDigest);
    file_.read(next_, piece_.data(), bytes);
    next_ += static_cast<std::int64_t>(bytes);
    return count_ > 0;
  }

 private:
  const SpillFile& file_;
  std::int64_t next_;  // offset of the next piece
  std::int64_t end_;
  std::vector<NumberedDigest> piece_;
  std::size_t count_ = 0;
  std::size_t at_ = 0;
};

}  // namespace

void SortedDigests::add(const NumberedDigest& digest) {
  if (digests_.size() == most_in_memory_) spill();
  if (digests_.empty()) digests_.reserve(most_in_memory_);
  digests_.push_back(digest);
}

void SortedDigests::for_each(const std::function<void(const NumberedDigest&)>& body) {
  if (!ends_.empty()) {
    spill();
    merge(body);
    return;
  }
  sort();
  std::for_each(digests_.begin(), digests_.end(), body);
}

void SortedDigests::sort() { std::sort(digests_.begin(), digests_.end()); }

void SortedDigests::spill() {
  sort();
  file_.append(digests_.data(), digests_.size() * sizeof(NumberedDigest));
  ends_.push_back(file_.size());
  digests_.clear();
}

void SortedDigests::merge(const std::function<void(const NumberedDigest&)>& body) {
  constexpr std::size_t kSmallestPiece = 170;  // 4 KiB
  digests_.shrink_to_fit();
  std::vector<Run> runs;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends_) {
    runs.emplace_back(file_, begin, end, std::max(kSmallestPiece, most_in_memory_ / ends_.size()));
    begin = end;
  }
  const auto later = [&](std::size_t a, std::size_t b) {
    return runs[b].front() < runs[a].front();
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> next(later);
  for (std::size_t run = 0; run < runs.size(); ++run) next.push(run);
  while (!next.empty()) {
    const std::size_t run = next.top();
    body(runs[run].front());
    next.pop();
    if (runs[run].advance()) next.push(run);
  }
}

}  // namespace bp::trainer
