#include "trainer/train/watch/memory_room.h"

#include <ATen/core/Tensor.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include <c10/core/Allocator.h>

#include "base/mix.h"
#include "base/system/control_group.h"
#include "bp/collective.h"
#include "trainer/train/watch/memory_watch.h"

namespace bp::trainer {
namespace {

constexpr double kToSpare = 1.3;       // a backward pass needs more than what is there before it
constexpr double kToSpareAtFirst = 2;  // before the first pass
constexpr std::chrono::milliseconds kBetweenLooks(100);  // a look takes some 0.2 ms
constexpr double kPlenty = 8;                            // times what the next pass needs

std::int64_t longest_of(std::span<const std::int32_t> lengths) {
  return *std::ranges::max_element(lengths);
}

}  // namespace

// In fp32: the inputs and outputs of a layer's products and norms, and its attention's
// probabilities with their dropout.
PassMemory::PassMemory(const EncoderSpec& model)
    : of_token_(4.0 * (model.layers + 1) * (10.0 * model.hidden + 3.0 * model.intermediate)),
      of_pair_(4.0 * model.layers * 3.0 * model.heads) {}

double PassMemory::suggested(std::span<const std::int32_t> lengths) const {
  double sum = 0;
  for (const std::int32_t length : lengths) sum += length * (of_token_ + of_pair_ * length);
  return sum;
}

bool PassMemory::is_new(std::span<const std::int32_t> lengths) const {
  return suggested(lengths) > largest_;
}

void PassMemory::learn(std::span<const std::int32_t> lengths, std::int64_t bytes) {
  largest_ = std::max(largest_, suggested(lengths));
  ratio_ = std::max(ratio_, static_cast<double>(bytes) / suggested(lengths));
}

double PassMemory::known(std::span<const std::int32_t> lengths) const {
  return suggested(lengths) * ratio_;
}

double PassMemory::need(std::span<const std::int32_t> lengths) const {
  return ratio_ > 0 ? kToSpare * known(lengths) : kToSpareAtFirst * suggested(lengths);
}

std::int64_t PassMemory::most_rows(std::span<const std::int32_t> lengths, double room) const {
  if (need(lengths) <= room) return 0;
  const auto longest = static_cast<std::int32_t>(longest_of(lengths));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(room / need({&longest, 1})));
}

class MemoryRoom::Counts : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(
      void* /*at*/, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override {
    now_ += bytes;
    most = std::max(most, now_);
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }
  std::int64_t most = 0;

 private:
  std::int64_t now_ = 0;
};

MemoryRoom::Allocated::Allocated(MemoryRoom& room, const Batch& batch)
    : room_(room), batch_(batch) {
  if (!room.is_on_ || !room.passes_.is_new(batch.lengths)) return;
  counts_ = std::make_shared<Counts>();
  guard_ = std::make_unique<c10::DebugInfoGuard>(c10::DebugInfoKind::PROFILER_STATE, counts_);
}

// The C library keeps what a pass has freed.
MemoryRoom::Allocated::~Allocated() {
  if (counts_ != nullptr) room_.passes_.learn(batch_.lengths, counts_->most);
  room_.held_ = std::max(room_.held_, room_.passes_.known(batch_.lengths));
}

MemoryRoom::MemoryRoom(Communicator& world, const Bert& model)
    : model_(model),
      is_on_(model.parameters().front().second.is_cpu()),
      passes_(model.config()),
      group_(group_folders_of("self", "memory")),
      sharers_of_machine_(world.topology().local_size()) {
  MixHash hash;
  hash.add(world.topology().host());
  for (const std::string& folder : group_) hash.add(folder);
  const auto mine = static_cast<std::int64_t>(hash.value());
  std::vector<std::int64_t> all(static_cast<std::size_t>(world.size()));
  all_gather(world, const_view(std::span(&mine, 1)), view(all), {.name = "control groups"});
  sharers_of_group_ = static_cast<double>(std::ranges::count(all, mine));
}

void MemoryRoom::look() {
  looked_ = std::chrono::steady_clock::now();
  const MemoryUse machine = machine_memory();
  free_ = machine.limit == 0
              ? std::numeric_limits<double>::infinity()
              : static_cast<double>(machine.limit - machine.used) / sharers_of_machine_;
  if (const auto group = group_memory(group_)) {
    const std::uint64_t left = group->limit - std::min(group->limit, group->used);
    free_ = std::min(free_, static_cast<double>(left) / sharers_of_group_);
  }
  if (!is_first_step_) return;
  for (const auto& [name, tensor] : model_.parameters()) {
    if (tensor.requires_grad()) free_ -= static_cast<double>(tensor.nbytes());
  }
}

std::int64_t MemoryRoom::most_rows(const Batch& batch) {
  if (!is_on_ || batch.rows < 2) return 0;
  const double need = passes_.need(batch.lengths);
  const bool has_plenty = free_ > kPlenty * need;
  if (has_plenty && std::chrono::steady_clock::now() < looked_ + kBetweenLooks) return 0;
  look();
  const std::int64_t most = passes_.most_rows(batch.lengths, free_ + held_);
  if (most == 0 || (most > 1 && held_ > 0)) return most;
  ::malloc_trim(0);
  held_ = 0;
  look();
  return passes_.most_rows(batch.lengths, free_);
}

void MemoryRoom::after_step() {
  if (std::exchange(is_first_step_, false)) held_ = 0;  // the optimizer's state may have taken it
}

}  // namespace bp::trainer
