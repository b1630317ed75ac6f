// The handshake of two ranks. Frames made of the input must all be refused. The frames of a rank
// that knows the key must be accepted, unless the input has changed a bit or the length of one of
// them.
#include "comm/peers/peer_handshake.h"

#include <optional>
#include <utility>

#include "fuzz.h"

namespace {

using bp::PeerHandshake;
using bp::test::require;

// Changes frames by three bytes of the input each, until the input ends.
class Changes {
 public:
  explicit Changes(std::string bytes) : bytes_(std::move(bytes)) {}

  // Returns whether it has changed the frame.
  bool change(std::string& frame) {
    if (next_ + 3 > bytes_.size()) return false;
    const std::size_t at = byte() % (frame.size() + 1);
    const std::size_t mask = byte();
    const bool cut = byte() % 4 == 3;
    if (at == frame.size()) {
      frame += static_cast<char>(mask);
      return true;
    }
    if (cut) {
      frame.resize(at);
      return true;
    }
    frame[at] = static_cast<char>(frame[at] ^ static_cast<char>(mask));
    return mask != 0;
  }

 private:
  std::size_t byte() { return static_cast<unsigned char>(bytes_[next_++]); }

  const std::string bytes_;
  std::size_t next_ = 0;
};

}  // namespace

FUZZ_TARGET(peer_handshake) {
  const std::string bytes = bp::test::text_of(data, size);
  const bp::JobKey key{7};
  const bp::Bytes32 identity{9};
  PeerHandshake unauthenticated(key, identity);
  require(!unauthenticated.take_hello(bytes) && !unauthenticated.check_answer(bytes) &&
          !unauthenticated.check_proof(bytes));

  Changes changes(bytes);
  PeerHandshake connecting(key, identity);
  PeerHandshake listening(key, identity);
  const int rank = static_cast<int>(size);
  std::string hello = connecting.hello(rank);
  const bool other_hello = changes.change(hello);
  require(listening.take_hello(hello) == (other_hello ? std::nullopt : std::optional(rank)));
  if (other_hello) return 0;
  std::string answer = listening.answer();
  const bool other_answer = changes.change(answer);
  require(connecting.check_answer(answer) != other_answer);
  if (other_answer) return 0;
  std::string proof = connecting.proof();
  const bool other_proof = changes.change(proof);
  require(listening.check_proof(proof) != other_proof);
  return 0;
}
