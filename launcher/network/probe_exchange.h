// What the two ends of a probe send each other: 32 bytes (the question, and the answer to it), then
// as many bytes as fill packets of any size. The answering end adds one more byte once it has got
// all. Networks that lose only large packets exist, and a job hangs on them: an interface or switch
// whose MTU is too small drops them without a word.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bp::launcher {

inline constexpr std::size_t kProbeBytes = 32;
inline constexpr std::size_t kProbeFilling = std::size_t{64} << 10;
inline constexpr std::size_t kProbeAll = kProbeBytes + kProbeFilling;

// One end of the exchange on a nonblocking connection that its owner closes.
class ProbeExchange {
 public:
  explicit ProbeExchange(int fd);

  // What this end sends first. The rest follows it.
  void begin(std::string_view head) { head_ = head; }
  [[nodiscard]] bool has_begun() const { return !head_.empty(); }
  // Sends what the connection takes of the first `most` bytes. Returns false if it has failed.
  [[nodiscard]] bool send_some(std::size_t most);
  // Returns as read(2).
  [[nodiscard]] long receive_some();

  [[nodiscard]] const std::string& got_head() const { return got_head_; }
  [[nodiscard]] bool has_got_head() const { return got_head_.size() == kProbeBytes; }
  [[nodiscard]] std::size_t got() const { return got_; }  // bytes
  [[nodiscard]] std::size_t sent() const { return sent_; }
  // A number that grows while bytes move in any direction.
  [[nodiscard]] std::size_t progress() const;

 private:
  int fd_;
  std::string head_;
  std::string got_head_;
  std::size_t sent_ = 0;
  std::size_t got_ = 0;
};

}  // namespace bp::launcher
