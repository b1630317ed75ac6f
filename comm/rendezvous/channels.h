// The channels through which ranks find the store. Each has its own source file.
#pragma once

#include <memory>
#include <string>

#include "comm/rendezvous/store_rendezvous.h"

namespace bp {

// A file in `folder` that only its user can read. If `folder` is empty, the file is in a folder of
// the user in this host's temporary folder. Rank 0 holds a lock on the file while it exists, so
// other ranks recognise a file that an earlier job left.
[[nodiscard]] std::unique_ptr<StoreRendezvous> rendezvous_in_folder(const std::string& folder,
                                                                    const LaunchedRank& rank);

// The key is derived from the secret in the file BP_JOB_KEY_FILE, and all ranks expect the store at
// the master's address.
[[nodiscard]] std::unique_ptr<StoreRendezvous> rendezvous_by_key_file(const LaunchedRank& rank,
                                                                      const Variables& variables);

// PMI-1 over the descriptor PMI_FD, as the ranks of MPI use it. It works once in each process.
[[nodiscard]] std::unique_ptr<StoreRendezvous> rendezvous_by_pmi(const LaunchedRank& rank,
                                                                 const Variables& variables);

// The TCPStore of PyTorch 2, which torchrun's agent serves at the master's address.
[[nodiscard]] std::unique_ptr<StoreRendezvous> rendezvous_by_torchrun(const LaunchedRank& rank,
                                                                      const Variables& variables);

// Returns the address of the launcher's master. Throws invalid_argument if it has none or its port
// is not a number.
[[nodiscard]] StoreAddress master_address(const LaunchedRank& rank, const Variables& variables);

}  // namespace bp
