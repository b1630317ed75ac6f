// What the communicators of one process share: the store, the transport, and the news that the job
// has failed.
//
// Threads: any. The store's thread brings the news.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "bp/store.h"
#include "comm/engine/failure.h"
#include "comm/message/messenger.h"
#include "comm/shared/host.h"
#include "comm/transport/transport.h"

namespace bp {

class Job {
 public:
  // `ranks`: by rank in the transport, what the launcher calls them.
  Job(std::shared_ptr<Store> store,
      std::unique_ptr<Transport> transport,
      std::shared_ptr<SharedHost> shared,
      std::vector<int> ranks);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] Store& store() { return *store_; }
  // The store goes on with another Job. This one has failed, and tells nobody any more.
  [[nodiscard]] std::shared_ptr<Store> hand_over_store();
  [[nodiscard]] int launcher_rank(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Transport& transport() { return *transport_; }
  [[nodiscard]] Messenger& messenger() { return messenger_; }
  // Null where ranks of one host share no memory, which is so on all hosts or on none.
  [[nodiscard]] const std::shared_ptr<SharedHost>& shared() const { return shared_; }

  // `failure` is set when the job fails; at once where it already has. It must be removed before
  // it is destroyed.
  void add(Failure& failure);
  void remove(Failure& failure);

  // Fails the job on all ranks with what `cause` (a rank in the transport, or -1) did. The first
  // failure of the job is kept: returns that one, which is `error` or what was earlier.
  Error fail(Failure& own, int cause, const Error& error);

 private:
  void spread(const Error& error);

  const std::shared_ptr<Store> store_;
  const std::unique_ptr<Transport> transport_;
  Messenger messenger_;  // ends before the transport
  const std::shared_ptr<SharedHost> shared_;
  const std::vector<int> ranks_;
  std::atomic<bool> handed_over_{false};
  std::mutex mutex_;
  std::vector<Failure*> failures_;  // guarded by mutex_
};

}  // namespace bp
