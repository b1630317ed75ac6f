// How messages start, match their receives and complete. messages_wait.cc waits for them, and
// messages_finish.cc ends them.
#include "comm/engine/messages/messages.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/mix.h"
#include "base/text.h"

namespace bp {
namespace {

// The most bytes of a message that one transfer moves.
constexpr std::size_t kTransferBytes = std::size_t{64} << 20;

}  // namespace

Messages::Messages(MessageSupervisor& supervisor)
    : supervisor_(supervisor),
      state_(supervisor.state()),
      setup_(state_.setup()),
      group_(mix_hash(setup_.group)),
      messenger_(setup_.job ? &setup_.job->messenger() : nullptr),
      core_(std::make_shared<MessageCore>()),
      peers_(setup_.members.size()) {
  core_->owner = this;
  state_.failure().on_set([this] { wake(); });
  if (messenger_ != nullptr) messenger_->add(group_, *this);
}

Messages::~Messages() {
  if (messenger_ != nullptr) messenger_->remove(group_);
  const Lock lock(core_->mutex);
  const auto gone =
      std::make_exception_ptr(Error(ErrorCode::aborted, "the communicator was destroyed"));
  while (!in_flight_.empty()) {
    const auto work = *in_flight_.begin();
    end(*work, gone);
  }
  for (int peer = 0; messenger_ != nullptr && peer < size(); ++peer) {
    for (OutgoingPacket& packet : at(peer).window.unreceived()) {
      messenger_->keep(setup_.transport_rank(peer), std::move(packet));
    }
  }
  core_->owner = nullptr;
  core_->changed.notify_all();
}

const std::byte* Messages::Arrived::data() const {
  if (local) return local->operation.input.data;
  return payload.empty() ? kept.data() : payload.data();
}

int Messages::member_of(int transport_rank) const {
  const std::vector<int>& members = setup_.members;
  return static_cast<int>(std::ranges::find(members, transport_rank) - members.begin());
}

MessageRoute Messages::route(int sender, int receiver, int tag, std::size_t bytes) const {
  return {.group = group_,
          .sender = setup_.transport_rank(sender),
          .receiver = setup_.transport_rank(receiver),
          .tag = tag,
          .bytes = bytes};
}

void Messages::open(int peer) {
  if (messenger_ == nullptr) return;
  if (peer != kAnySource) return messenger_->open(setup_.transport_rank(peer));
  for (const int member : setup_.members) messenger_->open(member);
}

std::shared_ptr<MessageWork> Messages::start_send(Operation operation) {
  auto work = std::make_shared<MessageWork>();
  work->sends = true;
  work->peer = operation.receiver;
  work->operation = std::move(operation);
  return start(work);
}

std::shared_ptr<MessageWork> Messages::start_receive(Operation operation, MessageStatus* report) {
  auto work = std::make_shared<MessageWork>();
  work->peer = operation.root;
  work->operation = std::move(operation);
  work->report = report;
  return start(work);
}

std::shared_ptr<MessageWork> Messages::start(const std::shared_ptr<MessageWork>& work) {
  work->core = core_;
  open(work->peer);
  Disagreement disagreement;
  {
    const Lock lock(core_->mutex);
    note_user();
    work->begun = std::chrono::steady_clock::now();
    work->entry_id = supervisor_.record_begin(work->operation);
    in_flight_.insert(work);
    disagreement = work->sends ? send(work) : post(work);
  }
  if (disagreement) supervisor_.disagree(*disagreement);
  return work;
}

PacketHeader Messages::header_of(const MessageWork& work) const {
  const Operation& operation = work.operation;
  PacketHeader header;
  header.group = group_;
  header.number = work.number;
  header.count = operation.input.count;
  header.type = operation.input.type;
  header.tag = operation.tag;
  header.kind = PacketHeader::Kind::rendezvous;
  header.name = mix_hash(operation.name);
  header.name_bytes =
      static_cast<std::uint16_t>(std::min(operation.name.size(), PacketHeader::kNameShown));
  std::copy_n(operation.name.begin(), header.name_bytes, header.name_shown.begin());
  return header;
}

Messages::Disagreement Messages::send(const std::shared_ptr<MessageWork>& work) {
  Peer& peer = at(work->peer);
  work->number = peer.sent++;
  if (work->peer == setup_.rank) return send_to_self(work);
  if (!peer.lost.empty()) {
    work->broken = peer.lost;
    return std::nullopt;
  }
  try {
    send_to_peer(*work);
  } catch (const TransportFailure& why) {
    work->broken = why.what();
  }
  return std::nullopt;
}

void Messages::send_to_peer(MessageWork& work) {
  EagerWindow& window = at(work.peer).window;
  const int to = setup_.transport_rank(work.peer);
  const ConstView& data = work.operation.input;
  Packet packet{.header = header_of(work), .payload = {}};
  window.acknowledge_in(packet.header);
  if (data.bytes() <= kEagerBytes && window.has_room(data.bytes())) {
    packet.header.kind = PacketHeader::Kind::eager;
    packet.payload = {data.data, data.bytes()};
    window.add_sent(messenger_->post(to, packet));
    return complete(work);
  }
  work.announcement = messenger_->post(to, packet);
  post_transfers(work, route(setup_.rank, work.peer, work.operation.tag, data.bytes()));
  work.phase = MessageWork::Phase::moving;
}

Messages::Disagreement Messages::send_to_self(const std::shared_ptr<MessageWork>& work) {
  const ConstView& data = work->operation.input;
  Arrived message{.from = work->peer, .header = header_of(*work)};
  if (copies_to_self(data.bytes())) {
    message.header.kind = PacketHeader::Kind::eager;
    message.payload = {data.data, data.bytes()};
    complete(*work);
  } else {
    message.local = work;
  }
  return arrive(std::move(message));
}

bool Messages::copies_to_self(std::size_t bytes) const {
  const auto waiting = std::ranges::count_if(
      matching_.arrived(), [this](const Arrived& one) { return one.from == setup_.rank; });
  return bytes <= kEagerBytes && waiting < static_cast<std::ptrdiff_t>(EagerWindow::kMessages);
}

void Messages::refuse_endless_send(const Operation& operation) {
  if (operation.receiver != setup_.rank) return;
  const Lock lock(core_->mutex);
  if (copies_to_self(operation.input.bytes())) return;
  Arrived message{.from = setup_.rank};
  message.header.tag = operation.tag;
  if (matching_.has_receive_for(message)) return;
  throw Error(ErrorCode::invalid_argument,
              concat("send: this rank has posted no receive for this message to itself, which has ",
                     operation.input.bytes(),
                     " bytes, and would wait for ever (call receive_async first, or send_async)"));
}

void Messages::refuse_endless_receive(const Operation& operation) {
  const int self = setup_.rank;
  if (operation.root != self && (operation.root != kAnySource || size() > 1)) return;
  const Lock lock(core_->mutex);
  const bool came = std::ranges::any_of(matching_.arrived(), [&](const Arrived& message) {
    return message.from == self && (operation.tag == kAnyTag || operation.tag == message.tag());
  });
  if (came) return;
  throw Error(ErrorCode::invalid_argument,
              "receive: this rank has sent no such message to itself, and would wait for ever "
              "(call send_async first, or receive_async)");
}

// True if the receive can only get a rendezvous message of its own sender, tag and length. It gets
// such messages in the order in which they are sent, so their data have a slot before the message
// arrives.
bool Messages::knows_message(const Posted& receive) const {
  const Operation& operation = receive.work->operation;
  if (receive.source() == kAnySource || receive.tag() == kAnyTag || operation.at_most) return false;
  if (receive.source() == setup_.rank || operation.output.bytes() <= kEagerBytes) return false;
  // An earlier receive that does not know its own message may take this one.
  return !matching_.has_rival(receive, [](const Posted& rival) { return !rival.work->expected; });
}

Messages::Disagreement Messages::post(const std::shared_ptr<MessageWork>& work) {
  Posted receive{work};
  const bool known = knows_message(receive);
  if (auto message = matching_.post(std::move(receive))) return match(work, *message);
  if (work->peer != kAnySource) work->broken = at(work->peer).lost;
  if (known && work->broken.empty()) {
    work->expected = true;
    const Operation& operation = work->operation;
    post_receives(*work, route(work->peer, setup_.rank, operation.tag, operation.output.bytes()));
  }
  return std::nullopt;
}

Messages::Disagreement Messages::arrive(Arrived message) {
  if (!matching_.has_receive_for(message)) {
    message.kept.assign(message.payload.begin(), message.payload.end());
    message.payload = {};
  }
  const auto receive = matching_.arrive(message);
  return receive ? match(receive->work, message) : std::nullopt;
}

std::string Messages::disagreement_text(const MessageWork& work, const Arrived& message) const {
  Operation sent;
  sent.kind = Operation::Kind::message;
  sent.root = message.from;
  sent.receiver = setup_.rank;
  sent.tag = message.header.tag;
  sent.input = {nullptr, message.header.count, message.header.type};
  sent.name.assign(message.header.name_shown.data(), message.header.name_bytes);
  return concat("ranks disagree on message ", message.header.number, " from rank ", message.from,
                " to rank ", sent.receiver, " of ", setup_.group, ": rank ", message.from,
                " asked for ", describe(sent), "; rank ", sent.receiver, " for ",
                describe(work.operation),
                " (a receive must have the type and the name of its message, and its count, unless "
                "at_most is set)");
}

Messages::Disagreement Messages::match(const std::shared_ptr<MessageWork>& work, Arrived& message) {
  const PacketHeader& header = message.header;
  const Operation& operation = work->operation;
  const bool fits = operation.at_most ? header.count <= operation.output.count
                                      : header.count == operation.output.count;
  if (!fits || header.type != operation.output.type || header.name != mix_hash(operation.name)) {
    return disagreement_text(*work, message);
  }
  work->received = {.sender = message.from, .tag = header.tag, .count = header.count};
  const std::size_t bytes = header.bytes();
  if (header.kind == PacketHeader::Kind::rendezvous && !message.local) {
    if (!work->expected) {
      post_receives(*work, route(message.from, setup_.rank, header.tag, bytes));
    }
    if (work->broken.empty()) work->phase = MessageWork::Phase::moving;
    core_->changed.notify_all();
    return std::nullopt;
  }
  if (bytes > 0) std::memmove(operation.output.data, message.data(), bytes);
  if (message.local) {
    complete(*message.local);
  } else if (message.from != setup_.rank) {
    at(message.from).window.add_consumed(bytes);
    give_credit(message.from);
  }
  complete(*work);
  return std::nullopt;
}

void Messages::post_receives(MessageWork& work, const MessageRoute& route) {
  try {
    post_transfers(work, route);
  } catch (const TransportFailure& why) {
    work.broken = why.what();
  }
}

void Messages::post_transfers(MessageWork& work, const MessageRoute& route) {
  Transport& transport = setup_.job->transport();
  std::uint64_t slot = message_slot(route);
  std::size_t begin = 0;
  do {  // a message without bytes has a transfer too, by which its sender learns that it arrived
    const std::size_t length = std::min(route.bytes - begin, kTransferBytes);
    if (work.sends) {
      work.transfers.push_back(
          transport.post_send(route.receiver, slot, {work.operation.input.data + begin, length}));
    } else {
      work.transfers.push_back(
          transport.post_receive(route.sender, slot, {work.operation.output.data + begin, length}));
    }
    begin += length;
    ++slot;
  } while (begin < route.bytes);
}

// Posts a packet without a message. A peer that has ended needs none, and what it sent before may
// still wait for its dispatch: on_lost() comes after that.
void Messages::post_control(int peer, PacketHeader::Kind kind) {
  const int to = setup_.transport_rank(peer);
  PacketHeader header;
  header.group = group_;
  header.kind = kind;
  at(peer).window.acknowledge_in(header);
  try {
    messenger_->keep(to, messenger_->post(to, {header, {}}));
  } catch (const TransportFailure&) {
  }
}

void Messages::give_credit(int peer) {
  if (!at(peer).window.credit_is_due() || !at(peer).lost.empty()) return;
  post_control(peer, PacketHeader::Kind::credit);
}

void Messages::on_packet(int transport_rank, const Packet& packet) {
  const int from = member_of(transport_rank);
  if (from == size()) return;
  Disagreement disagreement;
  {
    const Lock lock(core_->mutex);
    EagerWindow& window = at(from).window;
    const bool all_received = window.set_received(packet.header.consumed);
    if (all_received) core_->changed.notify_all();  // finish() waits for that
    switch (packet.header.kind) {
      case PacketHeader::Kind::credit:
        return;
      case PacketHeader::Kind::flush:
        window.acknowledge_each();
        return give_credit(from);
      case PacketHeader::Kind::eager:
      case PacketHeader::Kind::rendezvous:
        disagreement = arrive({.from = from, .header = packet.header, .payload = packet.payload});
        break;
    }
  }
  if (disagreement) supervisor_.disagree(*disagreement);
}

void Messages::on_lost(int transport_rank, const std::string& why) {
  const int peer = member_of(transport_rank);
  if (peer == size()) return;
  const Lock lock(core_->mutex);
  at(peer).lost = why;
  for (const auto& work : in_flight_) {
    if (work->phase == MessageWork::Phase::posted && work->peer == peer) work->broken = why;
  }
  core_->changed.notify_all();
}

void Messages::complete(MessageWork& work) {
  if (work.report != nullptr) *work.report = work.received;
  if (work.announcement.transfer) {  // the data may have arrived before it
    messenger_->keep(setup_.transport_rank(work.peer), std::move(work.announcement));
  }
  end(work, nullptr);
}

void Messages::end(MessageWork& work, std::exception_ptr error) {
  if (work.phase == MessageWork::Phase::done) return;
  matching_.withdraw([&](const Posted& posted) { return posted.work.get() == &work; });
  matching_.forget([&](const Arrived& message) { return message.local.get() == &work; });
  supervisor_.record_end(work, !error);
  const auto keeper =
      std::ranges::find_if(in_flight_, [&](const auto& one) { return one.get() == &work; });
  const std::shared_ptr<MessageWork> kept = keeper == in_flight_.end() ? nullptr : *keeper;
  if (kept) in_flight_.erase(keeper);
  work.phase = MessageWork::Phase::done;
  work.error = std::move(error);
  work.transfers.clear();
  work.announcement = {};  // after an error it can no longer be used; complete() has kept it
  core_->changed.notify_all();
}

}  // namespace bp
