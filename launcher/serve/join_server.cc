#include "launcher/serve/join_server.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/agent/join_key.h"
#include "launcher/agent/listen.h"
#include "launcher/failure/host_texts.h"
#include "launcher/hosts/machine.h"
#include "launcher/process/shell_words.h"
#include "launcher/protocol/hello.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"
#include "launcher/report/quoted.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kMostStrangers = 256;  // that have not proved who they are, at a time
constexpr auto kRetryAccept = 100ms;
constexpr auto kFarewell = 2s;  // for a machine that is sent away to hear of it

void say(const std::string& text) { std::fprintf(stderr, "bprun: %s\n", printable(text).c_str()); }

Fd listen_for(const Options& options) {
  const std::string address = options.interface.empty() ? "" : interface_address(options.interface);
  try {
    return listen_at(address, *options.serve_port);
  } catch (const Error& error) {
    throw Error(error.code(), concat("--serve ", *options.serve_port, ": ", error.what()));
  }
}

}  // namespace

JoinServer::JoinServer(const Options& options)
    : options_(options),
      world_(options.ranks.value_or(1)),
      key_(read_join_key()),
      own_{own_host_name(), options.slots, options.first_rank},
      signals_{SIGINT, SIGTERM, SIGHUP},
      listener_(listen_for(options)) {
  if (const auto why = contradiction({}, own_, world_); !why.empty()) {
    throw Error(ErrorCode::invalid_argument, why);
  }
  loop_->watch(signals_.fd(), POLLIN, [this](short) {
    for (const int number : signals_.read()) signal_ = number;
  });
  loop_->watch(listener_.get(), POLLIN, [this](short) { accept_some(); });
  beat();
}

std::variant<JoinResult, EarlyExit> JoinServer::run() {
  say(concat("serving on port ", port_of(listener_.get()), "; ", describe_offers({own_}, world_),
             "; on each other machine: ", invitation()));
  const auto start = EventLoop::Clock::now();
  while (slots_of(offers()) < world_ || awaited_for_gpus() != nullptr) {
    loop_->run_once();
    candidates_.remove_if([](const JoinCandidate& candidate) { return candidate.gone; });
    if (signal_ != 0) {
      return give_up(kExitSignal + signal_,
                     concat(signal_name(signal_), ": stopped before the job began"));
    }
    if (EventLoop::Clock::now() - start >= options_.start_timeout) return too_late();
  }
  try {
    return gathered();
  } catch (const Error& error) {
    const bool gpu = error.code() == ErrorCode::unavailable;
    return give_up(gpu ? kExitUnavailable : kExitUsage, error.what());
  }
}

EarlyExit JoinServer::too_late() {
  const std::string after =
      concat(", after ", elapsed_text(options_.start_timeout), " (--start-timeout)");
  if (const JoinCandidate* candidate = awaited_for_gpus();
      candidate && slots_of(offers()) == world_) {
    return give_up(kExitTemporary,
                   concat(candidate->offer->host, " has not told which GPUs it has", after));
  }
  EarlyExit exit =
      give_up(kExitTemporary, concat("only ", describe_offers(offers(), world_), after));
  exit.text += concat("\n  hint: on each machine that is missing: ", invitation(),
                      ", with the same BP_JOB_KEY_FILE; or a longer --start-timeout");
  return exit;
}

void JoinServer::accept_some() {
  while (true) {
    Fd socket = accept_waiting(listener_.get());
    if (!socket) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) pause_accepting();
      return;
    }
    if (strangers_.size() >= kMostStrangers) {
      refuse(strangers_.begin(), "it did not prove who it is before many others came");
    }
    const auto stranger =
        strangers_.insert(strangers_.end(), {peer_address_of(socket.get()), nullptr});
    stranger->handshake = std::make_unique<JoinHandshake>(
        *loop_, std::move(socket), key_,
        JoinHandshake::Listener{
            [this, stranger](Channel::Ends ends) {
              const Stranger done = std::move(*stranger);
              strangers_.erase(stranger);
              admit(std::move(ends), done.address);
            },
            [this, stranger](const std::string& why) { refuse(stranger, why); }});
  }
}

// Out of descriptors, most likely: a stranger's may serve a machine.
void JoinServer::pause_accepting() {
  if (!strangers_.empty()) refuse(strangers_.begin(), "no descriptor was left");
  loop_->set_events(listener_.get(), 0);
  pause_ = loop_->after(kRetryAccept, [this] { loop_->set_events(listener_.get(), POLLIN); });
}

// The first is said at once, as it may be a machine with another key; the rest are counted.
void JoinServer::refuse(std::list<Stranger>::iterator stranger, const std::string& why) {
  const Stranger done = std::move(*stranger);
  strangers_.erase(stranger);
  refusals_.add(done.address, why);
  if (refusals_.count() == 1) say(concat("refused ", done.address, ": ", why));
}

void JoinServer::admit(Channel::Ends ends, const std::string& address) {
  JoinCandidate& candidate = candidates_.emplace_back();
  candidate.address = address;
  const std::string ours = own_address_of(ends.in.get());
  candidate.channel = std::make_unique<Channel>(
      *loop_, std::move(ends),
      Channel::Listener{[this, &candidate, ours](const Frame& frame) {
                          ToLauncher message = decode_to_launcher(frame);
                          if (auto* hello = std::get_if<Hello>(&message)) {
                            hello->client_address = ours;  // as ssh would have told it
                            hello->server_address = candidate.address;
                          }
                          on_message(candidate, message);
                        },
                        [this, &candidate](const std::string&) { on_closed(candidate); }});
}

void JoinServer::on_message(JoinCandidate& candidate, const ToLauncher& message) {
  if (candidate.leaves_by) return;
  if (const auto* hello = std::get_if<Hello>(&message)) {
    candidate.hello = *hello;
    const std::string trouble = version_trouble(hello->host_name, *hello, make_hello(0));
    if (!trouble.empty()) send_away(candidate, kExitInternal, trouble);
  } else if (const auto* request = std::get_if<Join>(&message); request && !candidate.offer) {
    join(candidate, *request);
  } else if (const auto* facts = std::get_if<Facts>(&message)) {
    candidate.there = facts_of(facts->json).gpus;
  }
}

void JoinServer::join(JoinCandidate& candidate, const Join& request) {
  SlotOffer offer{new_name(candidate.hello.host_name), request.slots, {}};
  if (request.first_rank >= 0) offer.first_rank = request.first_rank;
  if (const auto why = objection(candidate, offer, request); !why.empty()) {
    send_away(candidate, kExitUsage, why);
    return;
  }
  candidate.offer = offer;
  candidate.gpus = request.gpus.empty() ? options_.gpus : request.gpus;
  if (!candidate.gpus.empty()) candidate.channel->send(encode(ToAgent(Ask{{.directory = "/"}})));
  say(concat(offer.host, " has joined; ", describe_offers(offers(), world_)));
}

const JoinServer::JoinCandidate* JoinServer::awaited_for_gpus() const {
  const auto found = std::ranges::find_if(candidates_, [](const JoinCandidate& candidate) {
    return candidate.offer && !candidate.gpus.empty() && !candidate.there;
  });
  return found == candidates_.end() ? nullptr : &*found;
}

// Why it may not join; empty where it may.
std::string JoinServer::objection(const JoinCandidate& candidate,
                                  const SlotOffer& offer,
                                  const Join& request) const {
  if (candidate.hello.version.empty() || request.slots < 1 || request.slots > kMaxSlots) {
    return concat(candidate.address, " has sent nonsense");
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

void JoinServer::send_away(JoinCandidate& candidate, int exit_code, const std::string& why) {
  say(concat("refused ", candidate.address, ": ", why));
  candidate.leaves_by = Deadline(kFarewell);
  candidate.channel->send(encode(End{exit_code, concat("bprun: ", own_.host, " refuses: ", why)}));
}

void JoinServer::on_closed(JoinCandidate& candidate) {
  candidate.gone = true;
  if (candidate.offer && !candidate.leaves_by) {
    const std::string host = candidate.offer->host;
    candidate.offer.reset();
    say(concat(host, " has left again; ", describe_offers(offers(), world_)));
  }
}

void JoinServer::beat() {
  for (JoinCandidate& candidate : candidates_) look_at(candidate);
  heartbeat_ = loop_->after(kHeartbeat, [this] { beat(); });
}

void JoinServer::look_at(JoinCandidate& candidate) {
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

std::string JoinServer::invitation() const {
  return concat("bprun --join ", own_.host, ":", port_of(listener_.get()), " --slots N");
}

std::vector<SlotOffer> JoinServer::offers() const {
  std::vector<SlotOffer> offers = {own_};
  for (const JoinCandidate& candidate : candidates_) {
    if (candidate.offer) offers.push_back(*candidate.offer);
  }
  return offers;
}

// Two agents of one machine are two hosts.
std::string JoinServer::new_name(const std::string& host) const {
  const auto all = offers();
  std::string name = host;
  const auto is_taken = [&name](const SlotOffer& offer) { return offer.host == name; };
  for (int count = 2; std::any_of(all.begin(), all.end(), is_taken); ++count) {
    name = concat(host, "#", count);
  }
  return name;
}

void JoinServer::stop_listening() {
  loop_->cancel(heartbeat_);
  loop_->forget(listener_.get());
  loop_->forget(signals_.fd());
  loop_->cancel(pause_);
  strangers_.clear();
  if (refusals_.count() > 1) say(refusals_.text());
}

EarlyExit JoinServer::give_up(int exit_code, const std::string& why) {
  for (JoinCandidate& candidate : candidates_) {
    candidate.leaves_by = Deadline(kFarewell);
    candidate.channel->send(encode(End{exit_code, concat("bprun: ", own_.host, ": ", why)}));
  }
  const Deadline deadline(kFarewell);
  const auto is_there = [](const JoinCandidate& candidate) { return !candidate.gone; };
  while (std::any_of(candidates_.begin(), candidates_.end(), is_there) && !deadline.passed()) {
    loop_->run_once(deadline.left());
  }
  return {exit_code, concat(signal_ != 0 ? "bprun: " : "bprun: FAILED  ", why)};
}

}  // namespace bp::launcher
