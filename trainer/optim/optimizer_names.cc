#include "trainer/optim/optimizer_names.h"

namespace bp::trainer {

std::vector<std::string> optimizer_names(const Extensions& extensions) {
  std::vector<std::string> names = {kAdamW};
  for (const auto& own : extensions.optimizers) names.push_back(own->name());
  return names;
}

}  // namespace bp::trainer
