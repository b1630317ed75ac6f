// Compares what must be the same on all ranks beside the gradients: the optimizer's options
// and the parameters. Each window carries a fingerprint of the options, of one element of each
// parameter, since what makes ranks drift apart seldom spares it, and of all parameters that the
// program itself has written. Only if fingerprints differ do the ranks compare all parameters.
//
// Threads: one at a time.
#pragma once

#include <torch/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "bp/communicator.h"
#include "comm/torch/parameter_set.h"

namespace bp {

// The options of a wrapped optimizer as names and numbers, to compare them between ranks.
class WrappedOptions {
 public:
  explicit WrappedOptions(const torch::optim::Optimizer& optimizer) : optimizer_(optimizer) {}

  // Calls visit(group, name, value) for each option of each group: all options of LibTorch's own
  // optimizers, and of another one its learning rate, if its options have get_lr().
  using Visit = std::function<void(std::size_t group, std::string_view name, double value)>;
  void for_each(const Visit& visit);

 private:
  const torch::optim::Optimizer& optimizer_;
  std::vector<std::type_index> without_rate_;  // types of options whose get_lr() has thrown
};

class StepAgreement {
 public:
  // All but `may_differ` must outlive this object. `may_differ`: the names of parameters of which
  // ranks may have different ones, because their optimizer puts off the updates of rows, on each
  // rank of other ones, or because a host has only parts of them.
  StepAgreement(Communicator& comm,
                const std::vector<Parameter>& parameters,
                const std::vector<std::string>& may_differ,
                const torch::optim::Optimizer& optimizer);

  // Returns the fingerprint. It reads all elements of those parameters only that the program has
  // written since the last confirmed().
  [[nodiscard]] std::uint64_t fingerprint();
  // The last fingerprint was the same on all ranks, or all ranks have the same parameters again.
  void confirmed() { written_.assign(written_.size(), false); }
  // Runs `write`, which writes the parameters on all ranks alike.
  template <class Write>
  void run_write(const Write& write) {
    notice_writes();
    write();
    for (std::size_t i = 0; i < marks_.size(); ++i) marks_[i] = mark_of(i);
  }
  // While suspended, the fingerprint is 0, because rank 0 alone decides about options and
  // parameters.
  void suspend(bool on) { suspended_ = on; }

  // The fingerprints of the ranks differ. Throws a mismatch on all ranks which names the first
  // difference. There is none if only some ranks have written what they had. Collective.
  void settle_difference();

 private:
  void notice_writes();
  // Returns a number that most writes to parameter i change, at little cost.
  [[nodiscard]] std::uint64_t mark_of(std::size_t i) const;
  // Returns that of parameter i, unless ranks may have different ones.
  [[nodiscard]] std::string_view last_of(std::size_t i) const;

  Communicator& comm_;
  const std::vector<Parameter>& parameters_;
  WrappedOptions options_;
  std::vector<bool> may_differ_;      // by parameter
  std::vector<std::uint64_t> marks_;  // of the parameters when they were last looked at
  std::vector<bool> written_;         // by the program
  bool suspended_ = false;
};

}  // namespace bp
