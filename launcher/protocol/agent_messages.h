// The messages between launcher and agent. Both ends must be the same build (else the launcher
// refuses the agent), so no compatibility is needed. Increase kProtocol with any change here.
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

inline constexpr std::uint32_t kProtocol = 7;

// Each end sends this every kHeartbeat to show that it is alive. The agent leaves the fields at 0.
struct Heartbeat {
  std::uint32_t lost_after_ms = 0;  // --lost-after
  std::uint32_t silent_ms = 0;      // how long the launcher has heard nothing from the agent
};

// --- launcher to agent ---

struct RankSpec {
  int rank = 0;
  std::vector<std::string> environment;  // NAME=VALUE; overrides the job's
};

// Everything that an agent needs to start its ranks. It answers with Ready or StartFailed.
struct JobSpec {
  std::string job;
  JobKey key{};
  std::vector<std::string> argv;
  std::string directory;  // empty: the agent's own directory and umask
  std::uint32_t umask = 022;
  std::vector<SoftLimit> limits;
  bool whole_environment = false;  // `environment` replaces the agent's own instead of adding to it
  std::vector<std::string> environment;
  std::vector<std::string> defaults;  // variables that apply unless they are set already
  std::vector<RankSpec> ranks;
  // The signals that bprun ignores; ranks start with them ignored.
  std::vector<std::int32_t> ignored_signals;
  std::int32_t host = 0;  // the index of the agent's host
  // Where an agent on another machine checks whether the launcher is alive when it hears nothing;
  // empty for an agent on the launcher's machine.
  StoreAddress store = {};
};

// A JobSpec for an agent whose stream others can read (protocol/sealed_job.h).
struct SealedJob {
  std::string public_key;  // bprun's
  std::string credential;  // munge's for it; empty: munge does not run on bprun's machine
  std::string text;        // encrypted
};

struct Go {};  // starts the ranks

struct SignalRanks {
  int signal = 0;
};

// Signals all ranks, and kills after the grace period every process that is left.
struct StopRanks {
  int signal = 0;
  std::uint32_t grace_ms = 0;
};

// Input for rank 0; empty at its end. At most kStdinWindow bytes may be unacknowledged.
struct StdinData {
  std::string data;
};

// Acknowledges `bytes` of Output.
struct OutputTaken {
  std::uint32_t bytes = 0;
};

// The launcher is about to be suspended (on), or has resumed (off). It sends no heartbeats in
// between.
struct Suspend {
  bool on = false;
};

// Asks an agent for facts about its host. Needs no job. The agent answers with Facts.
struct Ask {
  Question question;
};

// Tells an agent to listen for the other hosts of the job as host `host`. It answers with
// ProbeReady.
struct ProbeListen {
  std::int32_t host = 0;
  JobKey key{};  // used for the probe only
};

// Tells an agent to try each address of each of these peers. It answers with ProbeReport.
struct ProbePeers {
  std::uint32_t limit_ms = 0;
  std::vector<ProbePeer> peers;
};

// The job has ended or will not start. The agent prints `text` unless it is empty, and exits with
// this code.
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
                             End,
                             SealedJob>;

// --- agent to launcher ---

struct Hello {
  std::uint32_t protocol = kProtocol;
  std::string version;
  std::string build;
  std::string host_name;
  std::string machine;         // equal for two agents on one machine
  int cores = 1;               // UsableCores::computing() of this process
  int free_port = 0;           // reserved until Go
  std::string client_address;  // the client's address of the ssh connection; empty without ssh
  std::string server_address;
  std::string public_key;  // for a SealedJob; empty unless srun started the agent
  std::string credential;  // munge's for it; empty: munge does not run there
};

// Follows the Hello of an agent started by --join: the options of its command line.
struct Join {
  int slots = 1;
  int first_rank = -1;            // -1: any rank
  int world = 0;                  // 0: any size
  std::vector<std::string> argv;  // empty: the program that the others run
  std::string gpus = {};          // the value of --gpus; empty: the server decides
};

// A user on that machine asked the job to stop.
struct AskStop {
  int signal = 0;
};

// The agent gives up and sends nothing more. It has ended its ranks or is about to.
struct Leaving {
  std::string why;            // continues the sentence "its agent ..."
  bool bprun_silent = false;  // the reason is that it heard nothing from the launcher
};

struct Ready {};

struct StartFailed {
  int rank = -1;  // -1: the problem concerns the whole host
  int exit_code = 0;
  std::string problem;
};

struct Started {
  int rank = 0;
  int pid = 0;
};

enum class Stream : std::uint8_t { out, err };

// Output of a rank. At most kOutputWindow bytes may be unacknowledged by OutputTaken.
struct Output {
  int rank = 0;
  Stream stream = Stream::out;
  std::string data;  // empty: the stream has ended
};

struct Exited {
  int rank = 0;
  int status = 0;  // as waitpid() returns it
  // What the host knows about the cause, such as that memory ran out; empty: nothing.
  std::string cause;
};

struct StdinTaken {
  std::uint32_t bytes = 0;
};

// No process of the job is left on this host, and the agent has sent all output.
struct Done {
  int leftovers = 0;  // processes that the agent stopped after their rank's end
};

struct Facts {
  std::string json;  // in the format of json_text()
};

struct ProbeReady {
  int port = 0;
  std::vector<InterfaceAddress> addresses;  // all addresses of the host
};

struct ProbeReport {
  ProbeProblems problems;  // by peer, in the order of ProbePeers
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

[[nodiscard]] std::string encode(const ToAgent& message);  // both return a whole frame
[[nodiscard]] std::string encode(const ToLauncher& message);
// Both throw io for an unknown type or invalid content.
[[nodiscard]] ToAgent decode_to_agent(const Frame& frame);
[[nodiscard]] ToLauncher decode_to_launcher(const Frame& frame);

}  // namespace bp::launcher
