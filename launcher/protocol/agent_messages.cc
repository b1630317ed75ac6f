#include "launcher/protocol/agent_messages.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/protocol/wire.h"

namespace bp::launcher {

void fields(auto& wire, Of<SoftLimit> auto& it) { wire(it.resource, it.value); }
void fields(auto& wire, Of<StoreAddress> auto& it) { wire(it.host, it.port); }
void fields(auto& wire, Of<InterfaceAddress> auto& it) { wire(it.interface, it.address); }
void fields(auto& wire, Of<ProbePeer> auto& it) { wire(it.host, it.port, it.addresses); }
void fields(auto& wire, Of<Question> auto& it) {
  wire(it.directory, it.paths, it.environment, it.gpus);
}

void fields(WireWriter& wire, const JobKey& key) {
  wire(std::string_view(reinterpret_cast<const char*>(key.data()), key.size()));
}
void fields(WireReader& wire, JobKey& key) {
  std::string bytes;
  wire(bytes);
  if (bytes.size() != key.size()) {
    throw Error(ErrorCode::io, concat("a job key of ", bytes.size(), " bytes"));
  }
  std::ranges::copy(bytes, key.begin());
}

void fields(auto& wire, Of<Heartbeat> auto& it) { wire(it.lost_after_ms, it.silent_ms); }
void fields(auto& wire, Of<RankSpec> auto& it) { wire(it.rank, it.environment); }
void fields(auto& wire, Of<JobSpec> auto& it) {
  wire(it.job, it.key, it.argv, it.directory, it.umask, it.limits, it.whole_environment,
       it.environment, it.defaults, it.ranks, it.ignored_signals, it.host, it.store);
}
void fields(auto& wire, Of<SealedJob> auto& it) { wire(it.public_key, it.credential, it.text); }
void fields(auto& /*wire*/, Of<Go> auto& /*it*/) {}
void fields(auto& wire, Of<SignalRanks> auto& it) { wire(it.signal); }
void fields(auto& wire, Of<StopRanks> auto& it) { wire(it.signal, it.grace_ms); }
void fields(auto& wire, Of<StdinData> auto& it) { wire(it.data); }
void fields(auto& wire, Of<OutputTaken> auto& it) { wire(it.bytes); }
void fields(auto& wire, Of<Suspend> auto& it) { wire(it.on); }
void fields(auto& wire, Of<Ask> auto& it) { wire(it.question); }
void fields(auto& wire, Of<ProbeListen> auto& it) { wire(it.host, it.key); }
void fields(auto& wire, Of<ProbePeers> auto& it) { wire(it.limit_ms, it.peers); }
void fields(auto& wire, Of<End> auto& it) { wire(it.exit_code, it.text); }

void fields(auto& wire, Of<Hello> auto& it) {
  wire(it.protocol, it.version, it.build, it.host_name, it.machine, it.cores, it.free_port,
       it.client_address, it.server_address, it.public_key, it.credential);
}
void fields(auto& wire, Of<Join> auto& it) {
  wire(it.slots, it.first_rank, it.world, it.argv, it.gpus);
}
void fields(auto& wire, Of<AskStop> auto& it) { wire(it.signal); }
void fields(auto& wire, Of<Leaving> auto& it) { wire(it.why, it.bprun_silent); }
void fields(auto& /*wire*/, Of<Ready> auto& /*it*/) {}
void fields(auto& wire, Of<StartFailed> auto& it) { wire(it.rank, it.exit_code, it.problem); }
void fields(auto& wire, Of<Started> auto& it) { wire(it.rank, it.pid); }
void fields(auto& wire, Of<Output> auto& it) { wire(it.rank, it.stream, it.data); }
void fields(auto& wire, Of<Exited> auto& it) { wire(it.rank, it.status, it.cause); }
void fields(auto& wire, Of<StdinTaken> auto& it) { wire(it.bytes); }
void fields(auto& wire, Of<Done> auto& it) { wire(it.leftovers); }
void fields(auto& wire, Of<Facts> auto& it) { wire(it.json); }
void fields(auto& wire, Of<ProbeReady> auto& it) { wire(it.port, it.addresses); }
void fields(auto& wire, Of<ProbeReport> auto& it) { wire(it.problems); }

namespace {

// Checks, and corrects, what another program may have sent.
void check_received(auto& /*message*/) {}
void check_received(JobSpec& spec) {
  if (spec.argv.empty() || spec.ranks.empty()) {
    throw Error(ErrorCode::io, "a job without a program or without ranks");
  }
}
void check_received(Hello& hello) { hello.cores = std::max(1, hello.cores); }

// The frame's type is the message's index in its variant.
template <class Message>
std::string encode_any(const Message& message) {
  FrameWriter frame(static_cast<std::uint8_t>(message.index()));
  std::visit([&frame](const auto& content) { frame.content()(content); }, message);
  return frame.take();
}

template <class Message, std::size_t Index = 0>
Message decode_any(const Frame& frame) {
  if constexpr (Index == std::variant_size_v<Message>) {
    throw Error(ErrorCode::io, concat("bprun and its agent do not understand each other: a message "
                                      "of type ",
                                      int{frame.type}));
  } else if (frame.type != Index) {
    return decode_any<Message, Index + 1>(frame);
  } else {
    Message message(std::in_place_index<Index>);
    WireReader in(frame.content);
    in(std::get<Index>(message));
    in.expect_end();
    check_received(std::get<Index>(message));
    return message;
  }
}

}  // namespace

std::string encode(const ToAgent& message) { return encode_any(message); }
std::string encode(const ToLauncher& message) { return encode_any(message); }
ToAgent decode_to_agent(const Frame& frame) { return decode_any<ToAgent>(frame); }
ToLauncher decode_to_launcher(const Frame& frame) { return decode_any<ToLauncher>(frame); }

}  // namespace bp::launcher
