// Collectives of one rank: the output is the input.
#pragma once

#include <cstddef>
#include <string_view>

#include "comm/backend/backend.h"

namespace bp {

class SelfBackend : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "self"; }
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind, std::size_t) const override {
    return "none";
  }
  void run(const Operation& operation, CollectiveCall& call) override;
};

}  // namespace bp
