// The messages between bprun and its agents, which arrive in two pieces. An accepted message must
// be the same after it is written and read again.
#include <cstdlib>

#include "fuzz.h"
#include "launcher/protocol/agent_messages.h"
#include "launcher/protocol/frame.h"

namespace {

using namespace bp::launcher;

// Returns the message after it is encoded and decoded again.
template <class Decode>
auto sent_again(Decode decode, const Frame& frame) {
  const std::string once = encode(decode(frame));
  auto message = bp::test::read_own([&] {
    FrameReader reader;
    reader.feed(once);
    return decode(reader.next().value());
  });
  if (encode(message) != once) std::abort();
  return message;
}

}  // namespace

FUZZ_TARGET(agent_frames) {
  const std::string bytes = bp::test::text_of(data, size);
  const std::size_t middle = size == 0 ? 0 : data[0] % size;
  bp::test::read_anything([&] {
    FrameReader reader;
    for (const std::string& piece : {bytes.substr(0, middle), bytes.substr(middle)}) {
      reader.feed(piece);
      while (const auto frame = reader.next()) {
        bp::test::read_anything([&] { (void)sent_again(decode_to_agent, *frame); });
        bp::test::read_anything([&] {
          const auto message = sent_again(decode_to_launcher, *frame);
          if (const auto* facts = std::get_if<Facts>(&message)) {
            const std::string text = json_text(facts_of(facts->json));
            if (bp::test::read_own([&] { return json_text(facts_of(text)); }) != text) std::abort();
          }
        });
      }
    }
  });
  return 0;
}
