// Decides which of several processes, possibly on several hosts, makes a file that all of them
// need: the holder of the lease file next to it. It uses no file system locks, which network
// folders often lack. The holder renews the file; if it stops, another process takes the lease
// over.
//
// A lease saves work but does not guarantee correctness. There may be two holders if one was
// suspended, so the file that they make must appear by one atomic rename.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "base/deadline.h"

namespace bp::trainer {

struct LeaseTimes {
  std::chrono::milliseconds renewal{2000};
  std::chrono::milliseconds expiry{10000};  // time without renewal, by the watcher's own clock
};

// One thread may use a Lease at a time. A thread of its own renews it.
class Lease {
 public:
  explicit Lease(std::string path, const LeaseTimes& times = {});
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease();  // releases the lease

  // Takes the lease and returns true if it is free. Otherwise, if its holder is dead on this
  // machine or this object has seen no renewal for times.expiry, removes it, so that a later call
  // can take it. Call it repeatedly, about every times.renewal / 10. Throws io if the file cannot
  // be written.
  bool try_take();

  // Call it after try_take() returned false. Returns the holder and its last progress: "process
  // 4711 on host a: prepared 41,000 of 67,349 rows".
  [[nodiscard]] std::string holder() const;

  // Call it after try_take() returned false. Returns whether the holder is known to be running: it
  // is a live process of this machine, or has renewed the lease while this object watched.
  [[nodiscard]] bool holder_is_alive() const { return holder_is_alive_; }

  // Returns whether a process seems to hold the lease, and changes nothing: a live process of this
  // machine, or one of another machine that renewed it less than times.expiry ago by the file's
  // time.
  [[nodiscard]] bool seems_held() const;

  // For the holder: sets the progress that other processes see from the next renewal on.
  void say(const std::string& progress);
  // For the holder: returns whether another process has taken the lease over. The holder must then
  // discard what it is making.
  [[nodiscard]] bool lost() const;
  // A random text that identifies the holder.
  [[nodiscard]] const std::string& token() const { return mine_.token; }

 private:
  struct Content {
    std::string token;    // random; identifies the holder
    std::string machine;  // boot and process namespace, which give the process number a meaning
    int process = 0;
    std::int64_t renewals = 0;
    std::string host;
    std::string progress;
    // Start time of the process; distinguishes it from a later one of the same number.
    std::string started;
    bool operator==(const Content&) const = default;
  };

  static bool read(const std::string& path, Content& content);
  static std::string text_of(const Content& content);
  void remove_torn_renewals() const;
  void renew_until_stopped();
  void renew(const std::string& text) const;
  [[nodiscard]] bool seen_expired(const Content& content);
  [[nodiscard]] bool on_this_machine(const Content& content) const;
  [[nodiscard]] bool seen_dead(const Content& content) const;
  void remove_expired(const Content& content);

  std::string path_;
  LeaseTimes times_;
  Content mine_;
  Content watched_;  // the other holder's content, presumed alive until watched_until_
  Deadline watched_until_;
  bool holder_is_alive_ = false;

  mutable std::mutex
      mutex_;  // guards stop_, and mine_.renewals and .progress while the thread runs
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread renewer_;
};

}  // namespace bp::trainer
