// What launcher and agent say to each other. Both ends are the same build (or the launcher
// refuses), so there is no compatibility to keep; change kProtocol with any change here.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "bp/environment.h"
#include "launcher/hosts/address.h"
#include "launcher/process/limits.h"
#include "launcher/protocol/facts.h"
#include "launcher/protocol/frame.h"
#include "launcher/protocol/probe.h"

namespace bp::launcher {

inline constexpr std::uint32_t kProtocol = 6;

// Both ways, every kHeartbeat: the other end is alive. The agent leaves the fields at 0.
struct Heartbeat {
  std::uint32_t lost_after_ms = 0;  // --lost-after
  std::uint32_t silent_ms = 0;      // since the launcher heard the agent for the last time
};

// --- launcher to agent ---

struct RankSpec {
  int rank = 0;
  std::vector<std::string> environment;  // NAME=VALUE, over the job's
};

// Everything an agent must know. It answers with Ready or StartFailed.
struct JobSpec {
  std::string job;
  JobKey key{};
  std::vector<std::string> argv;
  std::string directory;  // empty: the agent's own, and its own umask
  std::uint32_t umask = 022;
  std::vector<SoftLimit> limits;
  bool whole_environment = false;  // `environment` replaces the agent's own instead of adding to it
  std::vector<std::string> environment;
  std::vector<std::string> defaults;  // variables for where they are not set
  std::vector<RankSpec> ranks;
  std::vector<std::int32_t> ignored_signals;  // ranks begin with these ignored, as bprun did
  std::int32_t host = 0;                      // the agent's number
  // Where an agent on another machine looks when it hears nothing; on the launcher's it is empty.
  StoreAddress store = {};
};

struct Go {};  // start the ranks

struct SignalRanks {
  int signal = 0;
};

// Signals all ranks, and kills everything that is left after the grace.
struct StopRanks {
  int signal = 0;
  std::uint32_t grace_ms = 0;
};

// For rank 0; empty: its end. At most kStdinWindow bytes may be under way.
struct StdinData {
  std::string data;
};

// Bytes of Output that have been dealt with.
struct OutputTaken {
  std::uint32_t bytes = 0;
};

// The launcher is about to be suspended, or is back: expect no heartbeats in between.
struct Suspend {
  bool on = false;
};

// What is there on your host? Comes without a job; the answer is Facts.
struct Ask {
  Question question;
};

// Listen for the other hosts of the job: you are `host`. The answer is ProbeReady.
struct ProbeListen {
  std::int32_t host = 0;
  JobKey key{};  // of the probe alone
};

// Try each address of each of these. The answer is ProbeReport.
struct ProbePeers {
  std::uint32_t limit_ms = 0;
  std::vector<ProbePeer> peers;
};

// The job has ended, or will not begin: leave with this code, and say this first unless it is
// empty.
struct End {
  int exit_code = 0;
  std::string text;
};

using ToAgent = std::variant<Heartbeat,
                             JobSpec,
                             Go,
                             SignalRanks,
                             StopRanks,
                             StdinData,
                             OutputTaken,
                             Suspend,
                             Ask,
                             ProbeListen,
                             ProbePeers,
                             End>;

// --- agent to launcher ---

struct Hello {
  std::uint32_t protocol = kProtocol;
  std::string version;
  std::string build;
  std::string host_name;
  std::string machine;         // the same text for two agents on one machine
  int cores = 1;               // that this process may use
  int free_port = 0;           // held until Go
  std::string client_address;  // of the ssh connection, as this end sees it; empty without one
  std::string server_address;
};

// After the hello of an agent that has come by itself (--join): what it was told on its command
// line.
struct Join {
  int slots = 1;
  int first_rank = -1;            // -1: any
  int world = 0;                  // 0: whatever it is
  std::vector<std::string> argv;  // empty: whatever the others run
  std::string gpus = {};          // as --gpus says it; empty: as the server wishes
};

// Somebody there wants the job to stop.
struct AskStop {
  int signal = 0;
};

// The agent gives up: the last message. It has ended its ranks or is about to.
struct Leaving {
  std::string why;            // what may follow "its agent "
  bool bprun_silent = false;  // it heard nothing of the launcher
};

struct Ready {};

struct StartFailed {
  int rank = -1;  // -1: concerns the host
  int exit_code = 0;
  std::string problem;
};

struct Started {
  int rank = 0;
  int pid = 0;
};

enum class Stream : std::uint8_t { out, err };

// At most kOutputWindow bytes may be under way without OutputTaken.
struct Output {
  int rank = 0;
  Stream stream = Stream::out;
  std::string data;  // empty: nothing more will come
};

struct Exited {
  int rank = 0;
  int status = 0;     // as from waitpid
  std::string cause;  // what its host knows of it, such as that memory ran out; empty: nothing
};

struct StdinTaken {
  std::uint32_t bytes = 0;
};

// No process of the job is left here and all output has been sent.
struct Done {
  int leftovers = 0;  // processes that had to be stopped after their rank's end
};

struct Facts {
  std::string json;  // facts_of() reads it
};

struct ProbeReady {
  int port = 0;
  std::vector<InterfaceAddress> addresses;  // all that the host has
};

struct ProbeReport {
  ProbeProblems problems;  // by peer
};

using ToLauncher = std::variant<Heartbeat,
                                Hello,
                                Ready,
                                StartFailed,
                                Started,
                                Output,
                                Exited,
                                StdinTaken,
                                Done,
                                Facts,
                                ProbeReady,
                                ProbeReport,
                                Join,
                                AskStop,
                                Leaving>;

inline constexpr std::uint32_t kStdinWindow = 256U << 10U;
inline constexpr std::uint32_t kOutputWindow = 1U << 20U;

[[nodiscard]] std::string encode(const ToAgent& message);  // a whole frame
[[nodiscard]] std::string encode(const ToLauncher& message);
// Throw io for a type or content that makes no sense.
[[nodiscard]] ToAgent decode_to_agent(const Frame& frame);
[[nodiscard]] ToLauncher decode_to_launcher(const Frame& frame);

}  // namespace bp::launcher
