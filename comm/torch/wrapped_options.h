// The options of a wrapped optimizer as names and numbers, to compare them between ranks.
#pragma once

#include <torch/optim/optimizer.h>

#include <functional>
#include <string_view>
#include <typeindex>
#include <vector>

namespace bp {

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

}  // namespace bp
