// Gloo's own collectives, to compare bp's with. `gloo-native` leaves Gloo's thread as Gloo starts
// it; `gloo-native-batch` schedules it as bp does for its own collectives (gloo_plugin/context.cc).
// Ranks that disagree learn it only when the collective's timeout has passed. reduce_scatter exists
// for sums of f32 only, by the one algorithm that this version of Gloo has.
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
  GlooTransport& transport_;  // of the job
};

}  // namespace bp
