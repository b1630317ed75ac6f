// The names that --optimizer takes. Does not use LibTorch.
#pragma once

#include <string>
#include <vector>

#include "bp/trainer/run.h"

namespace bp::trainer {

inline constexpr const char* kAdamW = "adamw";

// Of bert_train, and of the program that extends it. The first is the default.
[[nodiscard]] std::vector<std::string> optimizer_names(const Extensions& extensions);

}  // namespace bp::trainer
