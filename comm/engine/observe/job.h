// The communicators of one process share a job: the store, the transport, and the failure of the
// job.
//
// Threads: any. The store's thread brings the news of a failure.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bp/store.h"
#include "comm/engine/observe/blocked_notes.h"
#include "comm/engine/observe/failure.h"
#include "comm/message/messenger.h"
#include "comm/shared/shared_host.h"
#include "comm/transport/link_watch.h"
#include "comm/transport/transport.h"

namespace bp {

// Says which of this process's connections carry nothing any more (comm/transport/link_watch.h).
class LinkMonitor {
 public:
  // By rank in the transport: `ranks` are the launcher's numbers, `hosts` names, or empty.
  LinkMonitor(Transport& transport, std::vector<int> ranks, std::vector<std::string> hosts);

  struct Finding {
    int peer = -1;     // the lowest rank that is concerned, in the transport
    std::string text;  // empty: all is well
  };
  // Looks at all connections. Returns what is wrong if some have carried nothing for at least
  // `least`.
  [[nodiscard]] Finding look(std::chrono::milliseconds least);

 private:
  [[nodiscard]] std::string name_of(int peer) const;
  [[nodiscard]] std::string text_of(int peer, const DeadLink& dead) const;

  Transport& transport_;
  const std::vector<int> ranks_;
  const std::vector<std::string> hosts_;
  std::mutex mutex_;
  std::vector<LinkWatch> watches_;  // guarded by mutex_
};

class Job {
 public:
  // By rank in the transport: `ranks` are the launcher's numbers, `hosts` names, or empty. `shared`
  // may be null.
  Job(std::shared_ptr<Store> store,
      std::unique_ptr<Transport> transport,
      std::shared_ptr<SharedHost> shared,
      std::vector<int> ranks,
      std::vector<std::string> hosts);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] Store& store() { return *store_; }
  // Another Job takes over the store. This one has failed, and reports no further failure to it.
  [[nodiscard]] std::shared_ptr<Store> hand_over_store();
  // This rank has finished the world, and its groups with it.
  void leave() { has_left_ = true; }
  [[nodiscard]] bool has_left() const { return has_left_; }
  [[nodiscard]] int launcher_rank(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Transport& transport() { return *transport_; }
  [[nodiscard]] Messenger& messenger() { return messenger_; }
  [[nodiscard]] BlockedNotes& blocked() { return blocked_; }
  [[nodiscard]] LinkMonitor& links() { return links_; }
  // Null if ranks of one host share no memory, which holds for all hosts or for none.
  [[nodiscard]] const std::shared_ptr<SharedHost>& shared() const { return shared_; }

  // Sets `failure` when the job fails, or at once if it has failed. `failure` must be removed
  // before it is destroyed.
  void add(Failure& failure);
  void remove(Failure& failure);

  // Fails the job on all ranks because of what `cause` did: a rank in the transport, or -1. The
  // store keeps the job's first failure. Returns that one, which is `error` or an earlier one.
  Error fail(Failure& own, int cause, const Error& error);

 private:
  void spread(const Error& error);

  const std::shared_ptr<Store> store_;
  const std::unique_ptr<Transport> transport_;
  Messenger messenger_;  // destroyed before the transport
  const std::shared_ptr<SharedHost> shared_;
  const std::vector<int> ranks_;
  BlockedNotes blocked_;
  LinkMonitor links_;
  std::atomic<bool> handed_over_{false};
  std::atomic<bool> has_left_{false};
  std::mutex mutex_;
  std::vector<Failure*> failures_;  // guarded by mutex_
};

}  // namespace bp
