#include "launcher/protocol/messages.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/protocol/wire.h"

namespace bp::launcher {
namespace {

// Each message has two functions: put() writes its fields, and get() reads them in the same order.

void put(WireWriter&, const Go&) {}
void put(WireWriter&, const Ready&) {}
void get(WireReader&, Go&) {}
void get(WireReader&, Ready&) {}

void put(WireWriter& out, const Heartbeat& message) {
  out.u32(message.lost_after_ms);
  out.u32(message.silent_ms);
}
void get(WireReader& in, Heartbeat& message) {
  message.lost_after_ms = in.u32();
  message.silent_ms = in.u32();
}

void put(WireWriter& out, const JobKey& key) {
  out.string({reinterpret_cast<const char*>(key.data()), key.size()});
}

void get(WireReader& in, JobKey& key) {
  const std::string_view bytes = in.string();
  if (bytes.size() != key.size()) {
    throw Error(ErrorCode::io, concat("a job key of ", bytes.size(), " bytes"));
  }
  std::copy(bytes.begin(), bytes.end(), key.begin());
}

void put(WireWriter& out, const JobSpec& spec) {
  out.string(spec.job);
  put(out, spec.key);
  out.strings(spec.argv);
  out.string(spec.directory);
  out.u32(spec.umask);
  out.u32(static_cast<std::uint32_t>(spec.limits.size()));
  for (const SoftLimit& limit : spec.limits) {
    out.i32(limit.resource);
    out.u64(limit.value);
  }
  out.u8(spec.whole_environment ? 1 : 0);
  out.strings(spec.environment);
  out.strings(spec.defaults);
  out.u32(static_cast<std::uint32_t>(spec.ranks.size()));
  for (const RankSpec& rank : spec.ranks) {
    out.i32(rank.rank);
    out.strings(rank.environment);
  }
  out.u32(static_cast<std::uint32_t>(spec.ignored_signals.size()));
  for (const std::int32_t number : spec.ignored_signals) {
    out.i32(number);
  }
  out.i32(spec.host);
  out.string(spec.store.host);
  out.i32(spec.store.port);
}

void get(WireReader& in, JobSpec& spec) {
  spec.job = in.string();
  get(in, spec.key);
  spec.argv = in.strings();
  spec.directory = in.string();
  spec.umask = in.u32();
  spec.limits.resize(in.count(12));
  for (SoftLimit& limit : spec.limits) {
    limit.resource = in.i32();
    limit.value = in.u64();
  }
  spec.whole_environment = in.u8() != 0;
  spec.environment = in.strings();
  spec.defaults = in.strings();
  spec.ranks.resize(in.count(8));
  for (RankSpec& rank : spec.ranks) {
    rank.rank = in.i32();
    rank.environment = in.strings();
  }
  spec.ignored_signals.resize(in.count(4));
  for (std::int32_t& number : spec.ignored_signals) {
    number = in.i32();
  }
  spec.host = in.i32();
  spec.store.host = in.string();
  spec.store.port = in.i32();
  if (spec.argv.empty() || spec.ranks.empty()) {
    throw Error(ErrorCode::io, "a job without a program or without ranks");
  }
}

void put(WireWriter& out, const SealedJob& job) {
  out.string(job.public_key);
  out.string(job.credential);
  out.string(job.text);
}
void get(WireReader& in, SealedJob& job) {
  job.public_key = in.string();
  job.credential = in.string();
  job.text = in.string();
}

void put(WireWriter& out, const SignalRanks& message) { out.i32(message.signal); }
void get(WireReader& in, SignalRanks& message) { message.signal = in.i32(); }

void put(WireWriter& out, const StopRanks& message) {
  out.i32(message.signal);
  out.u32(message.grace_ms);
}
void get(WireReader& in, StopRanks& message) {
  message.signal = in.i32();
  message.grace_ms = in.u32();
}

void put(WireWriter& out, const StdinData& message) { out.string(message.data); }
void get(WireReader& in, StdinData& message) { message.data = in.string(); }

void put(WireWriter& out, const OutputTaken& message) { out.u32(message.bytes); }
void get(WireReader& in, OutputTaken& message) { message.bytes = in.u32(); }

void put(WireWriter& out, const Suspend& message) { out.u8(message.on ? 1 : 0); }
void get(WireReader& in, Suspend& message) { message.on = in.u8() != 0; }

void put(WireWriter& out, const Ask& message) {
  out.string(message.question.directory);
  out.strings(message.question.paths);
  out.u8(message.question.environment ? 1 : 0);
  out.u8(message.question.gpus ? 1 : 0);
}
void get(WireReader& in, Ask& message) {
  message.question.directory = in.string();
  message.question.paths = in.strings();
  message.question.environment = in.u8() != 0;
  message.question.gpus = in.u8() != 0;
}

void put(WireWriter& out, const Facts& message) { out.string(message.json); }
void get(WireReader& in, Facts& message) { message.json = in.string(); }

void put(WireWriter& out, const ProbeListen& message) {
  out.i32(message.host);
  put(out, message.key);
}
void get(WireReader& in, ProbeListen& message) {
  message.host = in.i32();
  get(in, message.key);
}

void put(WireWriter& out, const ProbePeers& message) {
  out.u32(message.limit_ms);
  out.u32(static_cast<std::uint32_t>(message.peers.size()));
  for (const ProbePeer& peer : message.peers) {
    out.i32(peer.host);
    out.i32(peer.port);
    out.strings(peer.addresses);
  }
}
void get(WireReader& in, ProbePeers& message) {
  message.limit_ms = in.u32();
  message.peers.resize(in.count(12));
  for (ProbePeer& peer : message.peers) {
    peer.host = in.i32();
    peer.port = in.i32();
    peer.addresses = in.strings();
  }
}

void put(WireWriter& out, const ProbeReady& message) {
  out.i32(message.port);
  out.u32(static_cast<std::uint32_t>(message.addresses.size()));
  for (const InterfaceAddress& entry : message.addresses) {
    out.string(entry.interface);
    out.string(entry.address);
  }
}
void get(WireReader& in, ProbeReady& message) {
  message.port = in.i32();
  message.addresses.resize(in.count(8));
  for (InterfaceAddress& entry : message.addresses) {
    entry.interface = in.string();
    entry.address = in.string();
  }
}

void put(WireWriter& out, const ProbeReport& message) {
  out.u32(static_cast<std::uint32_t>(message.problems.size()));
  for (const std::vector<std::string>& peer : message.problems) {
    out.strings(peer);
  }
}
void get(WireReader& in, ProbeReport& message) {
  message.problems.resize(in.count(4));
  for (std::vector<std::string>& peer : message.problems) {
    peer = in.strings();
  }
}

void put(WireWriter& out, const End& message) {
  out.i32(message.exit_code);
  out.string(message.text);
}
void get(WireReader& in, End& message) {
  message.exit_code = in.i32();
  message.text = in.string();
}

void put(WireWriter& out, const Hello& hello) {
  out.u32(hello.protocol);
  out.string(hello.version);
  out.string(hello.build);
  out.string(hello.host_name);
  out.string(hello.machine);
  out.i32(hello.cores);
  out.i32(hello.free_port);
  out.string(hello.client_address);
  out.string(hello.server_address);
  out.string(hello.public_key);
  out.string(hello.credential);
}

void get(WireReader& in, Hello& hello) {
  hello.protocol = in.u32();
  hello.version = in.string();
  hello.build = in.string();
  hello.host_name = in.string();
  hello.machine = in.string();
  hello.cores = std::max(1, in.i32());
  hello.free_port = in.i32();
  hello.client_address = in.string();
  hello.server_address = in.string();
  hello.public_key = in.string();
  hello.credential = in.string();
}

void put(WireWriter& out, const Join& message) {
  out.i32(message.slots);
  out.i32(message.first_rank);
  out.i32(message.world);
  out.strings(message.argv);
  out.string(message.gpus);
}
void get(WireReader& in, Join& message) {
  message.slots = in.i32();
  message.first_rank = in.i32();
  message.world = in.i32();
  message.argv = in.strings();
  message.gpus = in.string();
}

void put(WireWriter& out, const AskStop& message) { out.i32(message.signal); }
void get(WireReader& in, AskStop& message) { message.signal = in.i32(); }

void put(WireWriter& out, const Leaving& message) {
  out.string(message.why);
  out.u8(message.bprun_silent ? 1 : 0);
}
void get(WireReader& in, Leaving& message) {
  message.why = in.string();
  message.bprun_silent = in.u8() != 0;
}

void put(WireWriter& out, const StartFailed& message) {
  out.i32(message.rank);
  out.i32(message.exit_code);
  out.string(message.problem);
}
void get(WireReader& in, StartFailed& message) {
  message.rank = in.i32();
  message.exit_code = in.i32();
  message.problem = in.string();
}

void put(WireWriter& out, const Started& message) {
  out.i32(message.rank);
  out.i32(message.pid);
}
void get(WireReader& in, Started& message) {
  message.rank = in.i32();
  message.pid = in.i32();
}

void put(WireWriter& out, const Output& message) {
  out.i32(message.rank);
  out.u8(static_cast<std::uint8_t>(message.stream));
  out.string(message.data);
}
void get(WireReader& in, Output& message) {
  message.rank = in.i32();
  message.stream = in.u8() == 0 ? Stream::out : Stream::err;
  message.data = in.string();
}

void put(WireWriter& out, const Exited& message) {
  out.i32(message.rank);
  out.i32(message.status);
  out.string(message.cause);
}
void get(WireReader& in, Exited& message) {
  message.rank = in.i32();
  message.status = in.i32();
  message.cause = in.string();
}

void put(WireWriter& out, const StdinTaken& message) { out.u32(message.bytes); }
void get(WireReader& in, StdinTaken& message) { message.bytes = in.u32(); }

void put(WireWriter& out, const Done& message) { out.i32(message.leftovers); }
void get(WireReader& in, Done& message) { message.leftovers = in.i32(); }

// The frame's type is the message's index in its variant.
template <class Message>
std::string encode_any(const Message& message) {
  FrameWriter frame(static_cast<std::uint8_t>(message.index()));
  std::visit([&frame](const auto& content) { put(frame.content(), content); }, message);
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
    get(in, std::get<Index>(message));
    in.expect_end();
    return message;
  }
}

}  // namespace

std::string encode(const ToAgent& message) { return encode_any(message); }
std::string encode(const ToLauncher& message) { return encode_any(message); }
ToAgent decode_to_agent(const Frame& frame) { return decode_any<ToAgent>(frame); }
ToLauncher decode_to_launcher(const Frame& frame) { return decode_any<ToLauncher>(frame); }

}  // namespace bp::launcher
