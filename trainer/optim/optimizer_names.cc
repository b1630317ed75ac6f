#include "trainer/optim/optimizer_names.h"

#include "trainer/optim/optimizer_options.h"

namespace bp::trainer {

std::vector<std::string> optimizer_names(const Extensions& extensions) {
  std::vector<std::string> names = own_optimizers();
  for (const auto& own : extensions.optimizers) names.push_back(own->name());
  return names;
}

}  // namespace bp::trainer
