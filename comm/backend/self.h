// Collectives of one rank: what arrives is what was given.
#pragma once

#include "comm/backend/backend.h"

namespace bp {

class SelfBackend : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "self"; }
  void run(const Operation& operation, Call& call) override;
};

}  // namespace bp
