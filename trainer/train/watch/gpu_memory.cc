#include "trainer/train/watch/gpu_memory.h"

#include <algorithm>

#include <c10/core/CachingDeviceAllocator.h>

#include "base/text.h"
#include "bp/log.h"
#include "trainer/common/whole_file.h"
#include "trainer/gpu/use_gpu.h"
#include "trainer/report/json.h"
#include "trainer/train/watch/memory_advice.h"

namespace bp::trainer {
namespace {

constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

c10::DeviceAllocator& allocator() { return *c10::getDeviceAllocator(c10::kCUDA); }

}  // namespace

GpuMemoryHistory::GpuMemoryHistory(const Communicator& world, const RunSettings& settings)
    : world_(world), settings_(settings) {}

void GpuMemoryHistory::begin(std::int64_t step) {
  const c10::DeviceIndex gpu = device_of(settings_.rank_device).index();
  allocator().resetPeakStats(gpu);
  const auto stats = allocator().getDeviceStats(gpu);
  refusals_ = stats.num_alloc_retries;
  if (uses_.size() == kSteps) uses_.pop_front();
  uses_.push_back({.step = step + 1, .before = stats.allocated_bytes[kAll].current});
}

void GpuMemoryHistory::computes(const StepBatches& batches) {
  if (!watches()) return;
  Use& use = uses_.back();
  for (const Batch& batch : batches.micro_batches) {
    use.rows += batch.rows;
    use.length = std::max(use.length, batch.length);
    for (const auto length : batch.lengths) use.tokens += length;
  }
}

void GpuMemoryHistory::end() {
  const auto stats = allocator().getDeviceStats(device_of(settings_.rank_device).index());
  Use& use = uses_.back();
  use.highest = stats.allocated_bytes[kAll].peak;
  use.after = stats.allocated_bytes[kAll].current;
  use.reserved = stats.reserved_bytes[kAll].current;
  use.refusals = stats.num_alloc_retries - refusals_;
}

std::string GpuMemoryHistory::json(const std::string& error) const {
  const Topology& topology = world_.topology();
  const auto [free, total] = allocator().getMemoryInfo(device_of(settings_.rank_device).index());
  Json file{{"rank", world_.rank()},
            {"host", topology.host_name(topology.host())},
            {"gpu", settings_.rank_device.text},
            {"total", total},
            {"free", free},
            {"error", error},
            {"steps", Json::array()}};
  for (const Use& use : uses_) {
    file["steps"].push_back({{"step", use.step},
                             {"samples", use.rows},
                             {"tokens", use.tokens},
                             {"longest", use.length},
                             {"before", use.before},
                             {"highest", use.highest},
                             {"after", use.after},
                             {"reserved", use.reserved},
                             {"refusals", use.refusals}});
  }
  return file.dump(1) + "\n";
}

void GpuMemoryHistory::fail(const std::exception& error) {
  if (settings_.run.empty() || is_of_another_rank(error)) return;
  const std::string folder = settings_.run + "/bug";
  const std::string path = concat(folder, "/gpu-memory-", world_.rank(), ".json");
  try {
    end();
    make_folders(folder);
    write_whole_file(path, json(error.what()));
    log(LogLevel::warn, concat("the memory of the GPU, step by step, is in ", path));
  } catch (const std::exception& problem) {
    log(LogLevel::warn,
        concat("cannot write the memory of the GPU to ", path, ": ", problem.what()));
  }
}

}  // namespace bp::trainer
