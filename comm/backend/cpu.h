// The collectives of CPU memory: the schedules of comm/schedule over any transport, with the
// kernels of comm/reduce.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "comm/backend/backend.h"
#include "comm/schedule/segments.h"

namespace bp {

enum class Algorithm : std::uint8_t { automatic, ring, recursive_doubling };

// "auto", "ring", "recursive_doubling"; throws invalid_argument for any other, naming those.
[[nodiscard]] Algorithm parse_algorithm(std::string_view name);
[[nodiscard]] std::string_view name_of(Algorithm algorithm);

// What `automatic` stands for in an all_reduce of so many bytes.
[[nodiscard]] Algorithm choose_all_reduce(Algorithm asked, std::size_t bytes, int ranks);

// Over TCP by Gloo a message costs two or three changes of thread at each end, so they are longer
// than what a cache would like best: against 256 KiB a third of the context switches and the same
// CPU time a byte (64 MiB, 2 ranks).
inline constexpr SegmentLimits kSegments{.max_bytes = std::size_t{1} << 20};

class CpuBackend : public Backend {
 public:
  // `name`: that of the transport below. The rest must be the same on all ranks.
  CpuBackend(std::string name, Algorithm algorithm, const SegmentLimits& limits = kSegments)
      : name_(std::move(name)), algorithm_(algorithm), limits_(limits) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  void run(const Operation& operation, Call& call) override;

 private:
  const std::string name_;
  const Algorithm algorithm_;
  const SegmentLimits limits_;
};

}  // namespace bp
