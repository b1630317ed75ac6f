#include "launcher/agent/join.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "comm/store/handshake.h"
#include "comm/store/socket.h"
#include "launcher/agent/join_key.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/clock_text.h"

namespace bp::launcher {
namespace {

constexpr auto kPause = 100ms;  // before the next try

[[noreturn]] void cannot_join(const StoreAddress& server, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, concat("cannot join ", server.text(), ": ", why));
}

// The server's answer to hello. Unset if the connection ends before it, with the reason in `why`.
std::optional<HandshakeBody> receive_challenge(const StoreAddress& server,
                                               int fd,
                                               const Deadline& deadline,
                                               std::string& why) {
  std::string received;
  FrameView frame;
  while ((frame = next_frame(received, {})).state == FrameView::State::incomplete) {
    if (!receive_some(fd, received, deadline, why)) return std::nullopt;
  }
  auto body = decode_handshake(frame.body);
  if (frame.state == FrameView::State::too_long || !body) {
    cannot_join(server, "the program that answers there is not bprun --serve");
  }
  return body;
}

// Unset if a further try may work, with the reason in `why`.
std::optional<Channel::Ends> try_to_join(const StoreAddress& server,
                                         const JobKey& key,
                                         const Deadline& whole,
                                         std::string& why) {
  Fd socket = connect_tcp(server, whole, why);
  if (!socket) return std::nullopt;
  const Deadline deadline(std::min(whole.left(), std::chrono::milliseconds(kHandshake)));
  ClientHandshake handshake(key, kJoinHandshake, -1);
  if (!send_all(socket.get(), handshake.hello(), deadline, why)) return std::nullopt;
  const auto answer = receive_challenge(server, socket.get(), deadline, why);
  if (!answer) return std::nullopt;
  const auto step = handshake.take_challenge(*answer);
  if (step.refusal == StoreRefusal::version) cannot_join(server, "it has another version of bp");
  if (step.refusal || step.broken) {
    cannot_join(server, "the program that answers there is not bprun --serve");
  }
  if (step.other_key) cannot_join(server, "its secret differs from that in BP_JOB_KEY_FILE here");
  // The server may close the connection before it has read the proof, as strangers take many. Its
  // first heartbeat says that it has admitted this machine.
  char heartbeat = 0;
  if (!send_all(socket.get(), step.frame, deadline, why)) return std::nullopt;
  if (!is_readable(socket.get(), deadline)) {
    why = "no answer";
    return std::nullopt;
  }
  if (::recv(socket.get(), &heartbeat, 1, MSG_PEEK) <= 0) {
    why = "it closed the connection";
    return std::nullopt;
  }
  Channel::Ends ends;
  ends.out = Fd(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 3));
  ends.in = std::move(socket);
  ends.seal = std::make_unique<SealedStream>(handshake.session(), SealedStream::End::client);
  return ends;
}

}  // namespace

int join_job(const JoinOrder& order) {
  const JoinSession session{order.request, read_join_key(), order.server.text(), order.lost_after};
  const Deadline deadline(order.start_timeout);
  std::string why = "no answer";
  while (true) {
    if (auto ends = try_to_join(order.server, session.key, deadline, why)) {
      return run_agent(std::move(*ends), &session);
    }
    if (deadline.left() <= kPause) {
      throw Error(ErrorCode::timeout,
                  concat("no bprun --serve has answered at ", session.server, " within ",
                         elapsed_text(order.start_timeout), " (--start-timeout): ", why,
                         "; is it running, and has its job not begun without this machine?"));
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace bp::launcher
