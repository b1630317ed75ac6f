// Requests of three clients to the store's table: a byte that selects the client, then a frame
// without MAC. Every answer must be a message that a client can read.
#include "comm/store/store_table.h"

#include <cstdlib>
#include <string_view>

#include "fuzz.h"

namespace {

using namespace bp;

void handle(StoreTable& table, StoreTable::Client client, std::string_view body) {
  const auto request = decode_message(body);
  if (!request || request->op < StoreOp::set || request->op > StoreOp::erase) return;
  for (const auto& answer : table.handle(client, *request)) {
    if (answer.client > 2) std::abort();
    StoreMessage whole = answer.message;
    std::string bytes = encode_message(whole);
    if (answer.value) {
      bytes = encode_message_before(whole, answer.value->size()) + *answer.value;
      whole.strings.push_back(*answer.value);
    }
    if (decode_message(bytes) != whole) std::abort();
  }
}

}  // namespace

FUZZ_TARGET(store_table) {
  const std::string bytes = bp::test::text_of(data, size);
  StoreTable table;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const auto client = static_cast<StoreTable::Client>(static_cast<unsigned char>(rest[0]) % 4);
    rest.remove_prefix(1);
    if (client == 3) {  // client 0 leaves, or all clients stop waiting
      rest.size() % 2 == 0 ? table.forget_client(0) : table.forget_waits();
      continue;
    }
    const FrameView frame = next_frame(rest, {.body = kMaxStoreBody, .mac = 0});
    if (frame.state != FrameView::State::complete) break;
    handle(table, client, frame.body);
    rest.remove_prefix(frame.size);
  }
  return 0;
}
