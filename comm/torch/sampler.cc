#include "bp/torch/sampler.h"

#include <ATen/ops/scalar_tensor.h>
#include <torch/serialize/archive.h>

#include <algorithm>

#include "base/permutation.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/torch/same_lines.h"

namespace bp {
namespace {

template <class... Parts>
[[noreturn]] void refuse_sampling(const Parts&... why) {
  throw Error(ErrorCode::invalid_argument, concat("DistributedSampler: ", why...));
}

void require_same(Communicator& comm, const std::vector<std::string>& lines) {
  if (comm.size() > 1) {
    require_same_lines(comm, lines, "DistributedSampler",
                       "give every rank the same dataset, seed and position");
  }
}

}  // namespace

class DistributedSampler::State {
 public:
  State(Communicator& comm, std::size_t rows, const DistributedSamplerOptions& options)
      : comm_(comm), rows_(static_cast<std::int64_t>(rows)), options_(options) {
    require_same(comm, {concat("rows ", rows), concat("seed ", options.seed),
                        options.shuffle ? "shuffled" : "not shuffled"});
  }

  void reset(std::optional<std::size_t> new_size) {
    if (new_size) {
      rows_ = static_cast<std::int64_t>(*new_size);
    }
    if (begun_) {
      at_ = {.epoch = at_.epoch + 1, .rows = 0};
    }
    begun_ = true;
    starts_.clear();
  }

  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) {
    if (batch_size == 0) {
      refuse_sampling("a batch of 0 rows: batch_size counts the rows of all ranks together");
    }
    if (at_.rows >= rows_) {
      return std::nullopt;
    }
    starts_.push_back(at_.rows);
    const Positions batch = {
        .first = at_.rows,
        .count = std::min(static_cast<std::int64_t>(batch_size), rows_ - at_.rows)};
    at_.rows += batch.count;
    std::vector<std::size_t> mine = rows_at(own_part(batch));
    return mine.empty() ? rows_at({.first = batch.first, .count = 1}) : mine;
  }

  [[nodiscard]] double weight(std::size_t batch) const {
    if (batch >= starts_.size()) {
      refuse_sampling("weight of batch ", batch, ", but the loader has asked for ", starts_.size(),
                      " since the epoch began: count batches from 0 in each epoch");
    }
    const std::int64_t end = batch + 1 < starts_.size() ? starts_[batch + 1] : at_.rows;
    const std::int64_t first = starts_[batch];
    return static_cast<double>(own_part({.first = first, .count = end - first}).count);
  }

  [[nodiscard]] Position position(std::size_t batches) const {
    if (batches > starts_.size()) {
      refuse_sampling("position after ", batches, " batches, but the loader has asked for ",
                      starts_.size(), " since the epoch began");
    }
    const std::int64_t rows = batches < starts_.size() ? starts_[batches] : at_.rows;
    return rows < rows_ ? Position{.epoch = at_.epoch, .rows = rows}
                        : Position{.epoch = at_.epoch + 1};
  }

  [[nodiscard]] Position position() const { return position(starts_.size()); }

  void resume(const Position& position) {
    require_same(comm_, {concat("epoch ", position.epoch), concat("position ", position.rows)});
    if (position.epoch < 0 || position.rows < 0 || position.rows > rows_) {
      refuse_sampling("resume at row ", position.rows, " of epoch ", position.epoch,
                      ", but an epoch has ", rows_, " rows: give what position() returned");
    }
    at_ = position;
    begun_ = false;
    starts_.clear();
  }

 private:
  [[nodiscard]] Positions own_part(const Positions& batch) const {
    return part_of(batch, comm_.rank(), comm_.size());
  }

  [[nodiscard]] std::vector<std::size_t> rows_at(const Positions& positions) const {
    std::vector<std::size_t> rows;
    for (std::int64_t i = positions.first; i < positions.first + positions.count; ++i) {
      rows.push_back(static_cast<std::size_t>(
          options_.shuffle ? permuted(i, rows_, options_.seed, at_.epoch) : i));
    }
    return rows;
  }

  Communicator& comm_;
  std::int64_t rows_;
  DistributedSamplerOptions options_;
  Position at_;                       // of the next batch
  bool begun_ = false;                // reset() has begun the epoch of at_
  std::vector<std::int64_t> starts_;  // of the batches since then
};

DistributedSampler::DistributedSampler(Communicator& comm,
                                       std::size_t rows,
                                       const DistributedSamplerOptions& options)
    : state_(std::make_shared<State>(comm, rows, options)) {}

void DistributedSampler::reset(std::optional<std::size_t> new_size) { state_->reset(new_size); }
std::optional<std::vector<std::size_t>> DistributedSampler::next(std::size_t batch_size) {
  return state_->next(batch_size);
}
double DistributedSampler::weight(std::size_t batch) const { return state_->weight(batch); }
DistributedSampler::Position DistributedSampler::position(std::size_t batches) const {
  return state_->position(batches);
}
void DistributedSampler::resume(const Position& position) { state_->resume(position); }

void DistributedSampler::save(torch::serialize::OutputArchive& archive) const {
  const Position at = state_->position();
  archive.write("epoch", at::scalar_tensor(at.epoch, at::kLong), /*is_buffer=*/true);
  archive.write("rows", at::scalar_tensor(at.rows, at::kLong), /*is_buffer=*/true);
}

void DistributedSampler::load(torch::serialize::InputArchive& archive) {
  at::Tensor epoch;
  at::Tensor rows;
  archive.read("epoch", epoch, /*is_buffer=*/true);
  archive.read("rows", rows, /*is_buffer=*/true);
  resume({.epoch = epoch.item<std::int64_t>(), .rows = rows.item<std::int64_t>()});
}

}  // namespace bp
