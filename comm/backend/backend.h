// Carries out the collectives of one communicator.
//
// Threads: one at a time.
#pragma once

#include <string_view>

#include "comm/backend/collective_call.h"
#include "comm/backend/operation.h"

namespace bp {

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;  // "gloo"
  // Returns what would carry out such an operation, for reports: "ring", "direct".
  [[nodiscard]] virtual std::string_view algorithm_of(Operation::Kind kind,
                                                      std::size_t bytes) const = 0;
  // Blocks until the operation is complete on this rank. After an Error the content of the output
  // is undefined.
  virtual void run(const Operation& operation, CollectiveCall& call) = 0;
};

}  // namespace bp
