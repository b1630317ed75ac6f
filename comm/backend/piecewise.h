// A backend for host memory that carries out long operations in pieces. Ranks with device memory
// stage it in the same pieces, so all ranks carry out the same operations.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "comm/backend/pieces.h"

namespace bp {

class PiecewiseBackend : public Backend {
 public:
  // A piece has at most `bytes`, which must not be 0. `algorithm` is the one that the communicator
  // was created with.
  PiecewiseBackend(std::unique_ptr<Backend> whole, std::size_t bytes, std::string_view algorithm)
      : whole_(std::move(whole)),
        bytes_(bytes),
        agreed_(concat(algorithm, " in pieces of ", bytes, " bytes")) {}

  [[nodiscard]] std::string_view name() const override { return whole_->name(); }
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind kind,
                                              std::size_t bytes) const override {
    return whole_->algorithm_of(kind, bytes);
  }
  // Ranks whose pieces differ get a mismatch.
  [[nodiscard]] std::string_view agreed_algorithm(const Operation& operation,
                                                  std::string_view chosen) const override {
    return Pieces(operation, bytes_).count() > 1 ? agreed_ : chosen;
  }
  void run(const Operation& operation, CollectiveCall& call) override {
    const Pieces pieces(operation, bytes_);
    for (std::size_t i = 0; i < pieces.count(); ++i) whole_->run(pieces.at(i), call);
  }
  [[nodiscard]] bool is_settled() const override { return whole_->is_settled(); }
  void settle(CollectiveCall& call) override { whole_->settle(call); }

 private:
  std::unique_ptr<Backend> whole_;
  std::size_t bytes_;
  std::string agreed_;
};

}  // namespace bp
