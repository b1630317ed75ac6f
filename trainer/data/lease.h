// Who may make a file that several processes, maybe on several hosts, want to see made: the one
// that holds the lease file beside it. No locks of the file system are used (network folders often
// have none): the holder renews the file, and one that is not renewed for a while is taken over.
//
// It saves work; it does not guard correctness. Two holders are possible when one was suspended,
// so what they make must come into being by one atomic rename.
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
  std::chrono::milliseconds expiry{10000};  // without renewal, by the watcher's own clock
};

// Threads: one thread uses it; its own thread renews.
class Lease {
 public:
  explicit Lease(std::string path, const LeaseTimes& times = {});
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease();  // gives it back

  // Takes the lease when nobody has it, when its holder is seen to be dead on this machine, or when
  // this object has watched it unrenewed for times.expiry. To be called again and again, every
  // times.renewal / 10 or so. Throws io when the file cannot be written.
  bool try_take();

  // The holder's name and what it said last, after try_take() returned false:
  // "process 4711 on host a: prepared 41,000 of 67,349 rows".
  [[nodiscard]] std::string holder() const;

  // After try_take() returned false: the holder is known to be at work, since it is a living
  // process of this machine or has renewed the lease under this object's eyes.
  [[nodiscard]] bool holder_at_work() const { return at_work_; }

  // By the holder: what others are shown, from the next renewal on.
  void say(const std::string& progress);
  // By the holder: another has taken it over; what is being made is to be thrown away.
  [[nodiscard]] bool lost() const;
  // Random; tells holders apart.
  [[nodiscard]] const std::string& token() const { return mine_.token; }

 private:
  struct Content {
    std::string token;    // of the holder; random
    std::string machine;  // boot and process namespace, so that a process number means something
    int process = 0;
    std::int64_t renewals = 0;
    std::string host;
    std::string progress;
    std::string started;  // the process, as the kernel counts; tells numbers apart that come again
    bool operator==(const Content&) const = default;
  };

  static bool read(const std::string& path, Content& content);
  static std::string text_of(const Content& content);
  bool create();
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
  Content watched_;  // of another, and until when it is taken to be alive
  Deadline watched_until_;
  bool at_work_ = false;

  mutable std::mutex
      mutex_;  // guards stop_, and mine_.renewals and .progress while the thread runs
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread renewer_;
};

}  // namespace bp::trainer
