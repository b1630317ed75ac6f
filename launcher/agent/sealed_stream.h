// Protects the bytes of a connection that does not run over ssh: cuts them into records with a MAC
// each, so that no other party can alter, drop, repeat or insert any. Nothing is encrypted.
#pragma once

#include <string>
#include <string_view>

#include "comm/store/seal.h"

namespace bp::launcher {

class SealedStream {
 public:
  enum class End { server, client };
  // `session` is the key that both ends got from their handshake (comm/store/handshake.h).
  SealedStream(const Bytes32& session, End end);

  [[nodiscard]] std::string seal(std::string_view bytes);
  // Returns the content of the records that are complete. Throws io if a record was altered; the
  // stream is unusable afterwards.
  [[nodiscard]] std::string open(std::string_view bytes);

 private:
  FrameSeal outgoing_;
  FrameSeal incoming_;
  std::string received_;  // of an incomplete record
};

}  // namespace bp::launcher
