// Messages on their way: how they start, meet their receives and complete. How they are waited for
// is in message_wait.cc.
#include "comm/engine/messages.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/mix.h"
#include "base/text.h"
#include "comm/engine/engine.h"

namespace bp {
namespace {

// The most bytes of a message that one transfer moves.
constexpr std::size_t kTransferBytes = std::size_t{64} << 20;

std::uint64_t hash_of(std::string_view text) {
  MixHash hash;
  hash.add(text);
  return hash.value();
}

}  // namespace

Messages::Messages(Engine& engine)
    : engine_(engine),
      group_(hash_of(engine.setup().group)),
      messenger_(engine.setup().job ? &engine.setup().job->messenger() : nullptr),
      core_(std::make_shared<MessageCore>()),
      peers_(engine.setup().members.size()) {
  core_->owner = this;
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
  for (int peer = 0; messenger_ != nullptr && peer < engine_.size(); ++peer) {
    for (OutgoingPacket& packet : at(peer).eager) {
      messenger_->keep(in_transport(peer), std::move(packet));
    }
  }
  core_->owner = nullptr;
  core_->changed.notify_all();
}

int Messages::in_transport(int peer) const {
  return engine_.setup().members[static_cast<std::size_t>(peer)];
}

void Messages::open(int peer) {
  if (messenger_ == nullptr) return;
  if (peer != kAnySource) return messenger_->open(in_transport(peer));
  for (const int member : engine_.setup().members) messenger_->open(member);
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
    work->begun = FlightRecorder::Clock::now();
    work->ticket = engine_.record_message(work->operation, work->begun);
    in_flight_.insert(work);
    disagreement = work->sends ? send(work) : post(work);
  }
  if (disagreement) engine_.disagree_on_message(*disagreement);
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
  header.name = hash_of(operation.name);
  header.name_bytes =
      static_cast<std::uint16_t>(std::min(operation.name.size(), PacketHeader::kNameShown));
  std::copy_n(operation.name.begin(), header.name_bytes, header.name_shown.begin());
  return header;
}

Messages::Disagreement Messages::send(const std::shared_ptr<MessageWork>& work) {
  Peer& peer = at(work->peer);
  work->number = peer.sent++;
  if (work->peer == engine_.setup().rank) return send_to_self(work);
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
  Peer& peer = at(work.peer);
  const ConstView& data = work.operation.input;
  Packet packet{.header = header_of(work), .payload = {}};
  tell_consumed(peer, packet.header);
  if (data.bytes() <= kEagerBytes && peer.eager.size() < kWindow &&
      peer.eager_bytes + data.bytes() <= kWindowBytes) {
    packet.header.kind = PacketHeader::Kind::eager;
    packet.payload = {data.data, data.bytes()};
    peer.eager.push_back(messenger_->post(in_transport(work.peer), packet));
    peer.eager_bytes += data.bytes();
    return complete(work);
  }
  work.announcement = messenger_->post(in_transport(work.peer), packet);
  post_transfers(work, {.group = group_,
                        .sender = in_transport(engine_.setup().rank),
                        .receiver = in_transport(work.peer),
                        .tag = work.operation.tag,
                        .bytes = data.bytes()});
  work.phase = MessageWork::Phase::moving;
}

Messages::Disagreement Messages::send_to_self(const std::shared_ptr<MessageWork>& work) {
  const ConstView& data = work->operation.input;
  Arrived message{.from = work->peer, .header = header_of(*work)};
  const auto waiting = std::ranges::count_if(
      matching_.arrived(), [&](const Arrived& one) { return one.from == work->peer; });
  if (data.bytes() <= kEagerBytes && waiting < static_cast<std::ptrdiff_t>(kWindow)) {
    message.header.kind = PacketHeader::Kind::eager;
    message.payload = {data.data, data.bytes()};
    complete(*work);
  } else {
    message.local = work;
  }
  return arrive(std::move(message));
}

void Messages::refuse_endless_send(const Operation& operation) {
  const int self = engine_.setup().rank;
  if (operation.receiver != self || operation.input.bytes() <= kEagerBytes) return;
  const Lock lock(core_->mutex);
  Arrived message{.from = self};
  message.header.tag = operation.tag;
  if (matching_.has_receive_for(message)) return;
  throw Error(ErrorCode::invalid_argument,
              concat("send: this rank has posted no receive for this message to itself, which has ",
                     operation.input.bytes(),
                     " bytes, and would wait for ever (call receive_async first, or send_async)"));
}

void Messages::refuse_endless_receive(const Operation& operation) {
  const int self = engine_.setup().rank;
  if (operation.root != self && (operation.root != kAnySource || engine_.size() > 1)) return;
  const Lock lock(core_->mutex);
  const bool came = std::ranges::any_of(matching_.arrived(), [&](const Arrived& message) {
    return message.from == self && (operation.tag == kAnyTag || operation.tag == message.tag());
  });
  if (came) return;
  throw Error(ErrorCode::invalid_argument,
              "receive: this rank has sent no such message to itself, and would wait for ever "
              "(call send_async first, or receive_async)");
}

// Whether the receive can only get a rendezvous message of its own sender, tag and length, and gets
// those in the order in which they were sent: so its data have a slot before the message is there.
bool Messages::knows_message(const Posted& receive) const {
  const Operation& operation = receive.work->operation;
  if (receive.source() == kAnySource || receive.tag() == kAnyTag || operation.at_most) return false;
  if (receive.source() == engine_.setup().rank || operation.output.bytes() <= kEagerBytes) {
    return false;
  }
  // A rival that does not know its own message may take this one.
  return !matching_.has_rival(receive, [](const Posted& rival) { return !rival.work->expected; });
}

Messages::Disagreement Messages::post(const std::shared_ptr<MessageWork>& work) {
  Posted receive{work};
  const bool known = knows_message(receive);
  if (auto message = matching_.post(std::move(receive))) return match(work, *message);
  if (work->peer != kAnySource) work->broken = at(work->peer).lost;
  if (known && work->broken.empty()) {
    work->expected = true;
    post_receives(*work, {.sender = work->peer, .tag = work->operation.tag},
                  work->operation.output.bytes());
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
  sent.receiver = engine_.setup().rank;
  sent.tag = message.header.tag;
  sent.input = {nullptr, message.header.count, message.header.type};
  sent.name.assign(message.header.name_shown.data(), message.header.name_bytes);
  return concat("ranks disagree on message ", message.header.number, " from rank ", message.from,
                " to rank ", sent.receiver, " of ", engine_.setup().group, ": rank ", message.from,
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
  if (!fits || header.type != operation.output.type || header.name != hash_of(operation.name)) {
    return disagreement_text(*work, message);
  }
  work->received = {.sender = message.from, .tag = header.tag, .count = header.count};
  const std::size_t bytes = header.bytes();
  if (header.kind == PacketHeader::Kind::eager || message.local) {
    const std::byte* from = message.local             ? message.local->operation.input.data
                            : message.payload.empty() ? message.kept.data()
                                                      : message.payload.data();
    if (bytes > 0) std::memmove(operation.output.data, from, bytes);
    if (message.local) {
      complete(*message.local);
    } else if (message.from != engine_.setup().rank) {
      consume(message.from, bytes);
    }
    complete(*work);
    return std::nullopt;
  }
  if (!work->expected) post_receives(*work, work->received, bytes);
  if (work->broken.empty()) work->phase = MessageWork::Phase::moving;
  core_->changed.notify_all();
  return std::nullopt;
}

void Messages::post_receives(MessageWork& work, const MessageStatus& message, std::size_t bytes) {
  try {
    post_transfers(work, {.group = group_,
                          .sender = in_transport(message.sender),
                          .receiver = in_transport(engine_.setup().rank),
                          .tag = message.tag,
                          .bytes = bytes});
  } catch (const TransportFailure& why) {
    work.broken = why.what();
  }
}

void Messages::post_transfers(MessageWork& work, const MessageRoute& route) {
  Transport& transport = engine_.setup().job->transport();
  std::uint64_t slot = message_slot(route);
  std::size_t begin = 0;
  do {  // a message without bytes takes one too: its sender learns that it was received
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

void Messages::consume(int peer, std::size_t bytes) {
  ++at(peer).consumed;
  at(peer).untold_bytes += bytes;
  give_credit(peer);
}

void Messages::tell_consumed(Peer& peer, PacketHeader& header) {
  header.consumed = peer.consumed_told = peer.consumed;
  peer.untold_bytes = 0;
}

void Messages::give_credit(int peer) {
  Peer& to = at(peer);
  const std::uint64_t untold = to.consumed - to.consumed_told;
  const bool due = to.wants_credit || untold >= kWindow / 4 || to.untold_bytes >= kWindowBytes / 4;
  if (untold == 0 || !due || !to.lost.empty()) return;
  PacketHeader header;
  header.group = group_;
  tell_consumed(to, header);
  try {
    messenger_->keep(in_transport(peer), messenger_->post(in_transport(peer), {header, {}}));
  } catch (const TransportFailure& why) {
    to.lost = why.what();
  }
}

void Messages::on_packet(int transport_rank, const Packet& packet) {
  const std::vector<int>& members = engine_.setup().members;
  const auto from = static_cast<int>(std::ranges::find(members, transport_rank) - members.begin());
  if (from == engine_.size()) return;  // of no member
  Disagreement disagreement;
  {
    const Lock lock(core_->mutex);
    Peer& peer = at(from);
    while (peer.eager_received < packet.header.consumed && !peer.eager.empty()) {
      ++peer.eager_received;
      peer.eager_bytes -= peer.eager.front().payload;
      peer.eager.pop_front();  // it has arrived, or it could not have been received
      if (peer.eager.empty()) core_->changed.notify_all();  // finish() waits for that
    }
    switch (packet.header.kind) {
      case PacketHeader::Kind::credit:
        return;
      case PacketHeader::Kind::flush:
        peer.wants_credit = true;
        return give_credit(from);
      case PacketHeader::Kind::eager:
      case PacketHeader::Kind::rendezvous:
        disagreement = arrive({.from = from, .header = packet.header, .payload = packet.payload});
        break;
    }
  }
  if (disagreement) engine_.disagree_on_message(*disagreement);
}

void Messages::on_lost(int transport_rank, const std::string& why) {
  const std::vector<int>& members = engine_.setup().members;
  const auto peer = static_cast<int>(std::ranges::find(members, transport_rank) - members.begin());
  if (peer == engine_.size()) return;
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
    messenger_->keep(in_transport(work.peer), std::move(work.announcement));
  }
  end(work, nullptr);
}

void Messages::end(MessageWork& work, std::exception_ptr error) {
  if (work.phase == MessageWork::Phase::done) return;
  matching_.withdraw([&](const Posted& posted) { return posted.work.get() == &work; });
  matching_.forget([&](const Arrived& message) { return message.local.get() == &work; });
  engine_.record_end_of_message(work, !error);
  const auto keeper =
      std::ranges::find_if(in_flight_, [&](const auto& one) { return one.get() == &work; });
  const std::shared_ptr<MessageWork> kept = keeper == in_flight_.end() ? nullptr : *keeper;
  if (kept) in_flight_.erase(keeper);
  work.phase = MessageWork::Phase::done;
  work.error = std::move(error);
  work.transfers.clear();
  work.announcement = {};  // of no use: the communicator has failed
  core_->changed.notify_all();
}

}  // namespace bp
