// Gloo's own collectives, for comparison with ours (comm_bench --backend gloo-native). Ranks that
// disagree are found out only when the collective's time is up. reduce_scatter is there for sums of
// f32, by the only algorithm that this Gloo has.
#pragma once

#include "comm/backend/backend.h"
#include "comm/transport/gloo.h"

namespace bp {

class GlooNativeBackend : public Backend {
 public:
  explicit GlooNativeBackend(GlooTransport& transport) : transport_(transport) {}

  [[nodiscard]] std::string_view name() const override { return "gloo-native"; }
  void run(const Operation& operation, Call& call) override;

 private:
  GlooTransport& transport_;  // the job's
};

}  // namespace bp
