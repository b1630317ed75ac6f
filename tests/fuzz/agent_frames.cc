// What goes over the pipes between bprun and its agents, in two pieces. What is taken must survive
// being written and read again.
#include "fuzz.h"
#include "launcher/protocol/frame.h"
#include "launcher/protocol/messages.h"

namespace {

using namespace bp::launcher;

// Through a stream and out again.
template <class Decode>
auto decode_again(Decode decode, const std::string& bytes) {
  FrameReader reader;
  reader.feed(bytes);
  return decode(reader.next().value());  // an exception that is no bp::Error where there is none
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = bp::test::text_of(data, size);
  const std::size_t middle = size == 0 ? 0 : data[0] % size;
  bp::test::read_anything([&] {
    FrameReader reader;
    for (const std::string& piece : {bytes.substr(0, middle), bytes.substr(middle)}) {
      reader.feed(piece);
      while (const auto frame = reader.next()) {
        bp::test::read_anything(
            [&] { (void)decode_again(decode_to_agent, encode(decode_to_agent(*frame))); });
        bp::test::read_anything([&] {
          const auto message = decode_again(decode_to_launcher, encode(decode_to_launcher(*frame)));
          if (const auto* facts = std::get_if<Facts>(&message)) {
            (void)facts_of(json_text(facts_of(facts->json)));
          }
        });
      }
    }
  });
  return 0;
}
