// Gloo's own collectives, for comparison with ours: comm_bench --backend gloo-native, which leaves
// Gloo's thread as Gloo starts it, or gloo-native-batch, which runs it as we do for ours
// (gloo_plugin/context.cc). Ranks that disagree are found out only when the collective's time is
// up. reduce_scatter is there for sums of f32, by the only algorithm that this Gloo has.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "comm/backend/backend.h"
#include "comm/transport/gloo.h"

namespace bp {

class GlooNativeBackend : public Backend {
 public:
  GlooNativeBackend(std::string name, GlooTransport& transport)
      : name_(std::move(name)), transport_(transport) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind kind, std::size_t) const override {
    return kind == Operation::Kind::message ? "send_receive" : "native";
  }
  void run(const Operation& operation, CollectiveCall& call) override;

 private:
  std::string name_;
  GlooTransport& transport_;  // the job's
};

}  // namespace bp
