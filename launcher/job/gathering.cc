#include "launcher/job/gathering.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "bp/error.h"
#include "comm/base/text.h"
#include "launcher/agent/join_key.h"
#include "launcher/agent/listen.h"
#include "launcher/hosts/machine.h"
#include "launcher/job/job_texts.h"
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

Gathering::Gathering(const Options& options)
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

std::variant<Gathered, EarlyExit> Gathering::run() {
  say(concat("serving on port ", port_of(listener_.get()), "; ", describe_claims({own_}, world_),
             "; on each other machine: ", invitation()));
  const auto start = EventLoop::Clock::now();
  while (slots_of(claims()) < world_ || awaited_for_gpus() != nullptr) {
    loop_->run_once();
    guests_.remove_if([](const Guest& guest) { return guest.gone; });
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

EarlyExit Gathering::too_late() {
  const std::string after =
      concat(", after ", elapsed_text(options_.start_timeout), " (--start-timeout)");
  if (const Guest* guest = awaited_for_gpus(); guest && slots_of(claims()) == world_) {
    return give_up(kExitTemporary,
                   concat(guest->claim->host, " has not told which GPUs it has", after));
  }
  EarlyExit exit =
      give_up(kExitTemporary, concat("only ", describe_claims(claims(), world_), after));
  exit.text += concat("\n  hint: on each machine that is missing: ", invitation(),
                      ", with the same BP_JOB_KEY_FILE; or a longer --start-timeout");
  return exit;
}

void Gathering::accept_some() {
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
void Gathering::pause_accepting() {
  if (!strangers_.empty()) refuse(strangers_.begin(), "no descriptor was left");
  loop_->set_events(listener_.get(), 0);
  pause_ = loop_->after(kRetryAccept, [this] { loop_->set_events(listener_.get(), POLLIN); });
}

// The first is said at once, as it may be a machine with another key; the rest are counted.
void Gathering::refuse(std::list<Stranger>::iterator stranger, const std::string& why) {
  const Stranger done = std::move(*stranger);
  strangers_.erase(stranger);
  refusals_.add(done.address, why);
  if (refusals_.count() == 1) say(concat("refused ", done.address, ": ", why));
}

void Gathering::admit(Channel::Ends ends, const std::string& address) {
  Guest& guest = guests_.emplace_back();
  guest.address = address;
  const std::string ours = own_address_of(ends.in.get());
  guest.channel = std::make_unique<Channel>(
      *loop_, std::move(ends),
      Channel::Listener{[this, &guest, ours](const Frame& frame) {
                          ToLauncher message = decode_to_launcher(frame);
                          if (auto* hello = std::get_if<Hello>(&message)) {
                            hello->client_address = ours;  // as ssh would have told it
                            hello->server_address = guest.address;
                          }
                          on_message(guest, message);
                        },
                        [this, &guest](const std::string&) { on_closed(guest); }});
}

void Gathering::on_message(Guest& guest, const ToLauncher& message) {
  if (guest.leaves_by) return;
  if (const auto* hello = std::get_if<Hello>(&message)) {
    guest.hello = *hello;
    const std::string trouble = version_trouble(hello->host_name, *hello, make_hello(0));
    if (!trouble.empty()) send_away(guest, kExitInternal, trouble);
  } else if (const auto* request = std::get_if<Join>(&message); request && !guest.claim) {
    join(guest, *request);
  } else if (const auto* facts = std::get_if<Facts>(&message)) {
    guest.there = facts_of(facts->json).gpus;
  }
}

void Gathering::join(Guest& guest, const Join& request) {
  Claim claim{new_name(guest.hello.host_name), request.slots, {}};
  if (request.first_rank >= 0) claim.first_rank = request.first_rank;
  if (const auto why = objection(guest, claim, request); !why.empty()) {
    send_away(guest, kExitUsage, why);
    return;
  }
  guest.claim = claim;
  guest.gpus = request.gpus.empty() ? options_.gpus : request.gpus;
  if (!guest.gpus.empty()) guest.channel->send(encode(ToAgent(Ask{{.directory = "/"}})));
  say(concat(claim.host, " has joined; ", describe_claims(claims(), world_)));
}

const Gathering::Guest* Gathering::awaited_for_gpus() const {
  const auto found = std::ranges::find_if(guests_, [](const Guest& guest) {
    return guest.claim && !guest.gpus.empty() && !guest.there;
  });
  return found == guests_.end() ? nullptr : &*found;
}

// Why it may not join; empty where it may.
std::string Gathering::objection(const Guest& guest,
                                 const Claim& claim,
                                 const Join& request) const {
  if (guest.hello.version.empty() || request.slots < 1 || request.slots > kMaxSlots) {
    return concat(guest.address, " has sent nonsense");
  }
  if (request.world != 0 && request.world != world_) {
    return concat(claim.host, " has -n ", request.world, ", but ", own_.host, " has -n ", world_);
  }
  if (!request.argv.empty() && request.argv != options_.program) {
    return concat(claim.host, " would run ", quote_shell_words(request.argv), ", but ", own_.host,
                  " runs ", quote_shell_words(options_.program));
  }
  return contradiction(claims(), claim, world_);
}

void Gathering::send_away(Guest& guest, int exit_code, const std::string& why) {
  say(concat("refused ", guest.address, ": ", why));
  guest.leaves_by = Deadline(kFarewell);
  guest.channel->send(encode(End{exit_code, concat("bprun: ", own_.host, " refuses: ", why)}));
}

void Gathering::on_closed(Guest& guest) {
  guest.gone = true;
  if (guest.claim && !guest.leaves_by) {
    const std::string host = guest.claim->host;
    guest.claim.reset();
    say(concat(host, " has left again; ", describe_claims(claims(), world_)));
  }
}

void Gathering::beat() {
  for (Guest& guest : guests_) look_at(guest);
  heartbeat_ = loop_->after(kHeartbeat, [this] { beat(); });
}

void Gathering::look_at(Guest& guest) {
  if (guest.gone) return;
  guest.channel->send(encode(ToAgent(
      Heartbeat{.lost_after_ms = static_cast<std::uint32_t>(options_.lost_after.count())})));
  const bool silent = EventLoop::Clock::now() - guest.channel->last_heard() > options_.lost_after;
  if (silent || (guest.leaves_by && guest.leaves_by->passed())) {
    guest.channel->close();
    on_closed(guest);
  }
}

std::string Gathering::invitation() const {
  return concat("bprun --join ", own_.host, ":", port_of(listener_.get()), " --slots N");
}

std::vector<Claim> Gathering::claims() const {
  std::vector<Claim> claims = {own_};
  for (const Guest& guest : guests_) {
    if (guest.claim) claims.push_back(*guest.claim);
  }
  return claims;
}

// Two agents of one machine are two hosts.
std::string Gathering::new_name(const std::string& host) const {
  const auto all = claims();
  std::string name = host;
  const auto is_taken = [&name](const Claim& claim) { return claim.host == name; };
  for (int count = 2; std::any_of(all.begin(), all.end(), is_taken); ++count) {
    name = concat(host, "#", count);
  }
  return name;
}

void Gathering::stop_listening() {
  loop_->cancel(heartbeat_);
  loop_->forget(listener_.get());
  loop_->forget(signals_.fd());
  loop_->cancel(pause_);
  strangers_.clear();
  if (refusals_.count() > 1) say(refusals_.text());
}

EarlyExit Gathering::give_up(int exit_code, const std::string& why) {
  for (Guest& guest : guests_) {
    guest.leaves_by = Deadline(kFarewell);
    guest.channel->send(encode(End{exit_code, concat("bprun: ", own_.host, ": ", why)}));
  }
  const Deadline deadline(kFarewell);
  const auto is_there = [](const Guest& guest) { return !guest.gone; };
  while (std::any_of(guests_.begin(), guests_.end(), is_there) && !deadline.passed()) {
    loop_->run_once(deadline.left());
  }
  return {exit_code, concat(signal_ != 0 ? "bprun: " : "bprun: FAILED  ", why)};
}

}  // namespace bp::launcher
