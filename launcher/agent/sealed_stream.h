// What goes over a connection that is not ssh's own: the bytes in records with a MAC each, so that
// none is altered, left out, repeated or put in by somebody else. Nothing is encrypted.
#pragma once

#include <string>
#include <string_view>

#include "comm/store/seal.h"

namespace bp::launcher {

class SealedStream {
 public:
  enum class End { server, client };
  // `session` is the key that both ends have from their handshake (comm/store/handshake.h).
  SealedStream(const Bytes32& session, End end);

  [[nodiscard]] std::string seal(std::string_view bytes);
  // What the records hold of which the last byte has come. Throws io for one that is not right;
  // the stream is of no use afterwards.
  [[nodiscard]] std::string open(std::string_view bytes);

 private:
  FrameSeal outgoing_;
  FrameSeal incoming_;
  std::string received_;  // of a record that is not whole yet
};

}  // namespace bp::launcher
