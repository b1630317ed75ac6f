// The bytes between a machine that joins and its server: frames of the handshake, then records with
// a MAC. Records made of the input alone must all be refused; records with the right MAC around the
// input are opened.
#include <cstdlib>

#include "comm/store/handshake.h"
#include "fuzz.h"
#include "launcher/agent/join_key.h"
#include "launcher/agent/sealed_stream.h"
#include "launcher/protocol/agent_messages.h"
#include "launcher/protocol/frame.h"

FUZZ_TARGET(join) {
  using namespace bp;
  using namespace bp::launcher;
  const std::string bytes = bp::test::text_of(data, size);
  ServerHandshake server(JobKey{}, kJoinHandshake);
  static_cast<void>(server.take_hello(bytes));
  if (server.take_proof(bytes).problem.empty()) std::abort();  // the input cannot know the nonce
  if (const auto body = decode_handshake(bytes)) {
    if (!ClientHandshake(JobKey{}, kJoinHandshake, -1).take_challenge(*body).frame.empty()) {
      std::abort();
    }
  }
  bp::test::read_anything([&] {
    if (!SealedStream(Bytes32{1}, SealedStream::End::server).open(bytes).empty()) std::abort();
  });
  bp::test::read_anything([&] {
    SealedStream client(Bytes32{}, SealedStream::End::client);
    SealedStream served(Bytes32{}, SealedStream::End::server);
    FrameReader reader;
    const std::size_t middle = size / 2;
    for (const std::string& piece : {bytes.substr(0, middle), bytes.substr(middle)}) {
      reader.feed(served.open(client.seal(piece)));
      while (const auto frame = reader.next()) static_cast<void>(decode_to_launcher(*frame));
    }
  });
  return 0;
}
