// How a process connects to a store that it did not learn of from bprun.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bp/store.h"

namespace bp {

// Names the process that connects, and the sources from which it knows the store, for error texts.
struct StoreCaller {
  std::string name = {};                  // "rank 3"
  std::string_view server = "bprun";      // serves the store
  std::string_view address = "BP_STORE";  // the source of the address, and so on
  std::string_view job = "BP_JOB";
  std::string_view key = "BP_KEY_FD";
};

// As connect_store() of bp/store.h.
[[nodiscard]] std::unique_ptr<Store> connect_store(const StoreClientOptions& options,
                                                   const StoreCaller& caller);

}  // namespace bp
