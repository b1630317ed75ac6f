// The channels by which ranks meet, one a file.
#pragma once

#include <memory>
#include <string>

#include "comm/rendezvous/store_rendezvous.h"

namespace bp {

// A file that only its user can read, in `folder`; empty: in a folder of the user's own in this
// host's /tmp. It is held by a lock while rank 0 lives, so that one left behind is known as such.
[[nodiscard]] std::unique_ptr<StoreRendezvous> meet_in_folder(const std::string& folder,
                                                              const EngineRank& rank);

// The key is what the file BP_JOB_KEY_FILE holds; rank 0 serves at the master's address.
[[nodiscard]] std::unique_ptr<StoreRendezvous> meet_by_key_file(const EngineRank& rank,
                                                                const Variables& variables);

// PMI-1 over the descriptor PMI_FD, as MPI's own ranks meet; once a process.
[[nodiscard]] std::unique_ptr<StoreRendezvous> meet_by_pmi(const EngineRank& rank,
                                                           const Variables& variables);

// The TCPStore of PyTorch 2 that torchrun's agent serves at the master's address.
[[nodiscard]] std::unique_ptr<StoreRendezvous> meet_by_torchrun(const EngineRank& rank,
                                                                const Variables& variables);

// Where the engine's master is. Throws invalid_argument where it has none or its port is no number.
[[nodiscard]] StoreAddress master_address(const EngineRank& rank, const Variables& variables);

}  // namespace bp
