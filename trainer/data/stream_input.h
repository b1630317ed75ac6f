// The bytes of a pipe, a terminal or a socket, as they come.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "trainer/data/byte_input.h"

namespace bp::trainer {

class StreamInput final : public ByteInput {
 public:
  // `descriptor` stays the caller's, and must stay open. `name`: for messages. Calls
  // `before_waiting` each time when no byte is there yet.
  StreamInput(int descriptor, std::string name, std::function<void()> before_waiting);

  [[nodiscard]] const char* content_name() const override { return "the input"; }

 private:
  // Throws Interrupted if this process is asked to stop while it waits.
  std::size_t read_next(std::span<char> room) override;
  void wait();

  int descriptor_;
  std::string name_;
  std::function<void()> before_waiting_;
};

}  // namespace bp::trainer
