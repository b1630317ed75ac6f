#include "bp/features.h"

#include "bp/error.h"
#include "comm/transport/gloo.h"

namespace bp {
namespace {

std::string problem_of_gloo() {
  try {
    static_cast<void>(load_gloo_plugin());
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

std::vector<BackendState> backend_states() {
  const std::string gloo = problem_of_gloo();
  return {{"shm", ""}, {"gloo", gloo}, {"gloo-native", gloo}, {"gloo-native-batch", gloo}};
}

}  // namespace bp
