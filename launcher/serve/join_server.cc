#include "launcher/serve/join_server.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/quoted.h"
#include "base/refusals.h"
#include "base/system/fd.h"
#include "base/system/socket_address.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/agent/join_handshake.h"
#include "launcher/agent/join_key.h"
#include "launcher/failure/host_texts.h"
#include "launcher/hosts/machine.h"
#include "launcher/process/shell_words.h"
#include "launcher/protocol/hello.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

// Prints "bprun: TEXT" on stderr before a job has an OutputHub. Escapes what would steer a
// terminal.
void say(const std::string& text) { std::fprintf(stderr, "bprun: %s\n", printable(text).c_str()); }

constexpr std::size_t kMostUnauthenticated = 256;
constexpr int kMostAtOnce = 64;  // so that each of them may send its hello before it is refused
constexpr auto kRetryJoins = 100ms;

Fd listen_for(const Options& options) {
  const std::string address = options.interface.empty() ? "" : interface_address(options.interface);
  Fd socket = listen_at(address, *options.serve_port);
  if (socket) return socket;
  throw Error(ErrorCode::invalid_argument,
              concat("--serve ", *options.serve_port, ": ", error_text(errno)));
}

constexpr auto kFarewell = 2s;  // for a machine that was refused to close its connection

}  // namespace

// Where machines connect to bprun --serve: accepts connections and has each of them prove that it
// knows the key.
class JoinListener {
 public:
  // Gets each connection that has proved that it knows the key, with the peer's numeric address.
  using OnAdmitted = std::function<void(Channel::Ends ends, const std::string& address)>;

  // Listens from here on, at the port of --serve. `loop` must outlive it. Throws invalid_argument
  // if that port is taken or --interface names no interface.
  JoinListener(EventLoop& loop, const Options& options, const JobKey& key, OnAdmitted on_admitted)
      : loop_(loop), key_(key), on_admitted_(std::move(on_admitted)), socket_(listen_for(options)) {
    loop_.watch(socket_.get(), POLLIN, [this](short) { accept_some(); });
  }

  ~JoinListener() {
    loop_.forget(socket_.get());
    loop_.cancel(pause_);
  }

  JoinListener(const JoinListener&) = delete;
  JoinListener& operator=(const JoinListener&) = delete;

  [[nodiscard]] int port() const { return own_address(socket_.get()).port(); }
  // How many connections were refused. Only the first of them has been printed.
  [[nodiscard]] const Refusals& refusals() const { return refusals_; }

 private:
  struct Connection {
    std::string address;
    std::unique_ptr<JoinHandshake> handshake;
  };

  void accept_some() {
    for (int i = 0; i < kMostAtOnce; ++i) {
      Fd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) pause_accepting();
        return;
      }
      if (unauthenticated_.size() >= kMostUnauthenticated) {
        refuse(least_promising(),
               "it did not prove that it knows the key before too many others connected");
      }
      const auto connection = unauthenticated_.insert(unauthenticated_.end(),
                                                      {peer_address(socket.get()).host(), nullptr});
      connection->handshake = std::make_unique<JoinHandshake>(
          loop_, std::move(socket), key_,
          JoinHandshake::Listener{
              [this, connection](Channel::Ends ends) {
                const Connection done = std::move(*connection);
                unauthenticated_.erase(connection);
                on_admitted_(std::move(ends), done.address);
              },
              [this, connection](const std::string& why) { refuse(connection, why); }});
    }
  }

  // Returns the oldest of those that have said nothing yet, or else the oldest.
  std::list<Connection>::iterator least_promising() {
    const auto silent = std::ranges::find_if(
        unauthenticated_, [](const Connection& each) { return !each.handshake->challenged(); });
    return silent == unauthenticated_.end() ? unauthenticated_.begin() : silent;
  }

  // Most likely no descriptor is left. The descriptor of an unauthenticated connection may serve a
  // machine.
  void pause_accepting() {
    if (!unauthenticated_.empty()) refuse(least_promising(), "no descriptor was left");
    loop_.set_events(socket_.get(), 0);
    pause_ = loop_.after(kRetryJoins, [this] { loop_.set_events(socket_.get(), POLLIN); });
  }

  // Prints the first refusal at once, as it may be of a machine with another key. Counts the
  // others.
  void refuse(std::list<Connection>::iterator connection, const std::string& why) {
    const Connection done = std::move(*connection);
    unauthenticated_.erase(connection);
    refusals_.add(done.address, why);
    if (refusals_.count() == 1) say(concat("refused ", done.address, ": ", why));
  }

  EventLoop& loop_;
  const JobKey key_;
  OnAdmitted on_admitted_;
  Fd socket_;
  std::list<Connection> unauthenticated_;  // oldest first
  Refusals refusals_;
  EventLoop::TimerId pause_ = 0;
};

JoinServer::JoinServer(const Options& options)
    : options_(options),
      world_(options.ranks.value_or(1)),
      key_(read_join_key()),
      own_{.host = own_host_name(), .slots = options.slots, .first_rank = options.first_rank},
      signals_{SIGINT, SIGTERM, SIGHUP},
      listener_(std::make_unique<JoinListener>(
          *loop_, options, key_, [this](Channel::Ends ends, const std::string& address) {
            admit(std::move(ends), address);
          })) {
  if (const auto why = contradiction({}, own_, world_); !why.empty()) {
    throw Error(ErrorCode::invalid_argument, why);
  }
  loop_->watch(signals_.fd(), POLLIN, [this](short) {
    for (const int number : signals_.read()) signal_ = number;
  });
  beat();
}

JoinServer::~JoinServer() = default;

std::variant<JoinResult, EarlyExit> JoinServer::run() {
  say(concat("serving on port ", listener_->port(), "; ", describe_offers({own_}, world_),
             "; on each other machine: ", invitation()));
  const auto start = EventLoop::Clock::now();
  while (!complete()) {
    loop_->run_once();
    candidates_.remove_if([](const JoinCandidate& candidate) { return candidate.gone; });
    if (signal_ != 0) {
      return give_up(kExitSignal + signal_,
                     concat(signal_name(signal_), ": stopped before the job began"));
    }
    if (EventLoop::Clock::now() - start >= options_.start_timeout) return too_late();
  }
  try {
    return result();
  } catch (const Error& error) {
    const bool gpu = error.code() == ErrorCode::unavailable;
    return give_up(gpu ? kExitUnavailable : kExitUsage, error.what());
  }
}

// --- machines that join ---

void JoinServer::admit(Channel::Ends ends, const std::string& address) {
  JoinCandidate& candidate = candidates_.emplace_back();
  candidate.address = address;
  const std::string seen_as = own_address(ends.in.get()).host();
  candidate.channel = std::make_unique<Channel>(
      *loop_, std::move(ends),
      Channel::Listener{[this, &candidate, seen_as](const Frame& frame) {
                          ToLauncher message = decode_to_launcher(frame);
                          if (auto* hello = std::get_if<Hello>(&message)) {
                            hello->client_address = seen_as;  // as SSH_CONNECTION has it
                            hello->server_address = candidate.address;
                          }
                          on_message(candidate, message);
                        },
                        [this, &candidate](const std::string&) { on_closed(candidate); }});
  check(candidate);  // its heartbeat tells the machine that it is admitted
}

void JoinServer::on_message(JoinCandidate& candidate, const ToLauncher& message) {
  if (candidate.leaves_by) return;
  if (const auto* hello = std::get_if<Hello>(&message)) {
    candidate.hello = *hello;
    const std::string trouble = version_trouble(hello->host_name, *hello, make_hello(0));
    if (!trouble.empty()) refuse(candidate, kExitInternal, trouble);
  } else if (const auto* request = std::get_if<Join>(&message); request && !candidate.offer) {
    join(candidate, *request);
  } else if (const auto* facts = std::get_if<Facts>(&message)) {
    candidate.gpus = facts_of(facts->json).gpus;
  }
}

void JoinServer::on_closed(JoinCandidate& candidate) {
  candidate.gone = true;
  if (candidate.offer && !candidate.leaves_by) {
    const std::string host = candidate.offer->host;
    candidate.offer.reset();
    say(concat(host, " has left; ", describe_offers(offers(), world_)));
  }
}

void JoinServer::join(JoinCandidate& candidate, const Join& request) {
  SlotOffer offer{
      .host = unused_name(candidate.hello.host_name), .slots = request.slots, .first_rank = {}};
  if (request.first_rank >= 0) offer.first_rank = request.first_rank;
  if (const auto why = objection(candidate, offer, request); !why.empty()) {
    refuse(candidate, kExitUsage, why);
    return;
  }
  candidate.offer = offer;
  candidate.gpu_request = request.gpus.empty() ? options_.gpus : request.gpus;
  if (!candidate.gpu_request.empty()) {
    candidate.channel->send(encode(ToAgent(Ask{{.directory = "/"}})));
  }
  say(concat(offer.host, " has joined; ", describe_offers(offers(), world_)));
}

// Why the candidate cannot join; empty if it can.
std::string JoinServer::objection(const JoinCandidate& candidate,
                                  const SlotOffer& offer,
                                  const Join& request) const {
  if (candidate.hello.version.empty() || request.slots < 1 || request.slots > kMaxSlots) {
    return concat(candidate.address, " has sent an invalid request");
  }
  if (request.world != 0 && request.world != world_) {
    return concat(offer.host, " has -n ", request.world, ", but ", own_.host, " has -n ", world_);
  }
  if (!request.argv.empty() && request.argv != options_.program) {
    return concat(offer.host, " would run ", quote_shell_words(request.argv), ", but ", own_.host,
                  " runs ", quote_shell_words(options_.program));
  }
  return contradiction(offers(), offer, world_);
}

void JoinServer::refuse(JoinCandidate& candidate, int exit_code, const std::string& why) {
  say(concat("refused ", candidate.address, ": ", why));
  candidate.leaves_by = Deadline(kFarewell);
  candidate.channel->send(encode(End{exit_code, concat("bprun: ", own_.host, " refuses: ", why)}));
}

// Two agents of one machine are two hosts.
std::string JoinServer::unused_name(const std::string& host) const {
  const auto all = offers();
  std::string name = host;
  const auto is_taken = [&name](const SlotOffer& offer) { return offer.host == name; };
  for (int count = 2; std::ranges::any_of(all, is_taken); ++count) {
    name = concat(host, "#", count);
  }
  return name;
}

// --- heartbeats ---

void JoinServer::beat() {
  for (JoinCandidate& candidate : candidates_) check(candidate);
  heartbeat_ = loop_->after(kHeartbeat, [this] { beat(); });
}

void JoinServer::check(JoinCandidate& candidate) {
  if (candidate.gone) return;
  candidate.channel->send(encode(ToAgent(
      Heartbeat{.lost_after_ms = static_cast<std::uint32_t>(options_.lost_after.count())})));
  const bool silent =
      EventLoop::Clock::now() - candidate.channel->last_heard() > options_.lost_after;
  if (silent || (candidate.leaves_by && candidate.leaves_by->passed())) {
    candidate.channel->close();
    on_closed(candidate);
  }
}

// --- the end of the wait ---

const JoinCandidate* JoinServer::awaited_for_gpus() const {
  const auto found = std::ranges::find_if(candidates_, &JoinCandidate::awaits_gpus);
  return found == candidates_.end() ? nullptr : &*found;
}

bool JoinServer::complete() const {
  return slots_of(offers()) >= world_ && awaited_for_gpus() == nullptr;
}

JoinResult JoinServer::result() {
  JoinResult result = make_joined_plan(options_, own_, candidates_);
  loop_->cancel(heartbeat_);
  loop_->forget(signals_.fd());
  if (listener_->refusals().count() > 1) say(listener_->refusals().text());
  listener_.reset();
  candidates_.clear();
  result.machines.key = key_;
  result.machines.loop = std::move(loop_);
  return result;
}

EarlyExit JoinServer::too_late() {
  const std::string after =
      concat(", after ", elapsed_text(options_.start_timeout), " (--start-timeout)");
  if (const JoinCandidate* candidate = awaited_for_gpus();
      candidate && slots_of(offers()) == world_) {
    return give_up(kExitTemporary,
                   concat(candidate->offer->host, " has not said which GPUs it has", after));
  }
  EarlyExit exit =
      give_up(kExitTemporary, concat("only ", describe_offers(offers(), world_), after));
  exit.text += concat("\n  hint: on each machine that is missing: ", invitation(),
                      ", with the same BP_JOB_KEY_FILE; or a longer --start-timeout");
  return exit;
}

EarlyExit JoinServer::give_up(int exit_code, const std::string& why) {
  for (JoinCandidate& candidate : candidates_) {
    candidate.leaves_by = Deadline(kFarewell);
    candidate.channel->send(encode(End{exit_code, concat("bprun: ", own_.host, ": ", why)}));
  }
  const Deadline deadline(kFarewell);
  const auto is_connected = [](const JoinCandidate& candidate) { return !candidate.gone; };
  while (std::ranges::any_of(candidates_, is_connected) && !deadline.passed()) {
    loop_->run_once(deadline.left());
  }
  return {exit_code, concat(signal_ != 0 ? "bprun: " : "bprun: FAILED  ", why)};
}

// --- texts ---

std::string JoinServer::invitation() const {
  return concat("bprun --join ", own_.host, ":", listener_->port(), " --slots N");
}

std::string JoinServer::outlook() const {
  const int awaited = world_ - own_.slots;
  if (options_.json) {
    const nlohmann::ordered_json json = {{"program", options_.program},
                                         {"port", listener_->port()},
                                         {"ranks", world_},
                                         {"slots", own_.slots},
                                         {"awaited", awaited},
                                         {"seconds", options_.start_timeout / 1.0s},
                                         {"join", invitation()}};
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return concat("program: ", quote_shell_words(options_.program), "\nwould serve on port ",
                listener_->port(), "; ", describe_offers({own_}, world_), "\nwould wait ",
                elapsed_text(options_.start_timeout), " (--start-timeout) for ", awaited,
                awaited == 1 ? " rank" : " ranks", "; on each other machine: ", invitation(), "\n");
}

}  // namespace bp::launcher
