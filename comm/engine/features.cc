#include "bp/features.h"

#include "comm/backend/registry.h"

namespace bp {

std::vector<BackendState> backend_states() {
  std::vector<BackendState> states;
  for (const BackendEntry& backend : backend_registry()) {
    states.push_back({std::string(backend.name), backend.find_problem()});
  }
  return states;
}

}  // namespace bp
