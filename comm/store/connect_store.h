// How a process connects to a store that it did not learn of from bprun.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bp/store.h"

namespace bp {

// Who connects, and what named the store. The texts of errors say it.
struct StoreCaller {
  std::string name = {};                  // "rank 3"
  std::string_view server = "bprun";      // what serves the store
  std::string_view address = "BP_STORE";  // what named each
  std::string_view job = "BP_JOB";
  std::string_view key = "BP_KEY_FD";
};

// As connect_store() of bp/store.h.
[[nodiscard]] std::unique_ptr<Store> connect_store(const StoreClientOptions& options,
                                                   const StoreCaller& caller);

}  // namespace bp
