// How a client connects: it retries until the server answers, and then does the handshake.
#include "comm/store/connect_store.h"

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "comm/store/client.h"
#include "comm/store/handshake.h"
#include "comm/store/quote.h"
#include "comm/store/socket.h"

namespace bp {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{10};
constexpr milliseconds kLongestPause{500};

// The arguments of a connection.
struct Attempt {
  const StoreClientOptions& options;
  const StoreCaller& caller;
};

Error cannot_join(const Attempt& attempt, ErrorCode code, const std::string& why) {
  return {code, concat(attempt.caller.name, " cannot join the store ",
                       attempt.options.address.text(), ": ", why)};
}

[[noreturn]] void throw_unwanted(const Attempt& attempt, const std::string& why) {
  throw cannot_join(attempt, ErrorCode::invalid_argument, why);
}

std::string of_two_jobs(const StoreCaller& caller, std::string_view what) {
  return concat("; ", caller.address, " and ", what, " are not of one job");
}

[[noreturn]] void throw_refused(const Attempt& attempt,
                                StoreRefusal reason,
                                std::uint32_t version) {
  switch (reason) {
    case StoreRefusal::version:
      throw_unwanted(attempt,
                     concat("it speaks version ", version, " of the protocol, this program ",
                            "version ", kStoreVersion, "; ", attempt.caller.server,
                            " and the program must be of one bp release"));
    case StoreRefusal::job:
      throw_unwanted(attempt, concat("it serves another job than ", in_quotes(attempt.options.job),
                                     of_two_jobs(attempt.caller, attempt.caller.job)));
    case StoreRefusal::rank_range:
      throw_unwanted(attempt, "its job has no such rank; RANK is not of this job");
    case StoreRefusal::rank_taken:
      throw_unwanted(attempt,
                     "that rank has joined already; is a second process running with the "
                     "same RANK?");
  }
  throw_unwanted(attempt, concat("it refused for reason ", static_cast<std::int64_t>(reason)));
}

// Returns one whole frame of the handshake. Throws if the bytes are not such a frame, because the
// peer is not a store then. Returns nothing, with the reason in `why`, if the connection ends.
std::optional<HandshakeBody> receive_handshake(const Attempt& attempt,
                                               StoreLink& link,
                                               const Deadline& deadline,
                                               std::string& why) {
  while (true) {
    const FrameView frame = next_frame(link.received, {.body = kMaxHandshakeBody, .mac = 0});
    if (frame.state == FrameView::State::complete) {
      auto handshake = decode_handshake(frame.body);
      link.received.erase(0, frame.size);
      if (handshake && (handshake->message || handshake->version != kStoreVersion)) {
        return handshake;
      }
    }
    if (frame.state != FrameView::State::incomplete) {
      throw_unwanted(attempt, concat("the process at that address is not a bp store; is ",
                                     attempt.caller.address, " right?"));
    }
    if (!receive_some(link.socket.get(), link.received, deadline, why)) {
      return std::nullopt;
    }
  }
}

Fd connect_to_store(const Attempt& attempt, const Deadline& deadline, std::string& why) {
  try {
    return connect_tcp(attempt.options.address, deadline, why);
  } catch (const Error& error) {
    throw cannot_join(attempt, error.code(), error.what());
  }
}

// Returns nothing, with the reason in `why`, if a retry may help; throws if it cannot.
std::optional<StoreLink> open_link(const Attempt& attempt,
                                   const Deadline& deadline,
                                   std::string& why) {
  StoreLink link{.socket = connect_to_store(attempt, deadline, why)};
  if (!link.socket) {
    return std::nullopt;
  }
  const StoreClientOptions& options = attempt.options;
  ClientHandshake handshake(options.key, options.job, options.rank);
  const int fd = link.socket.get();
  if (!send_all(fd, handshake.hello(), deadline, why)) {
    return std::nullopt;
  }
  const auto answer = receive_handshake(attempt, link, deadline, why);
  if (!answer) {
    return std::nullopt;
  }
  const auto step = handshake.take_challenge(*answer);
  if (step.refusal) {
    throw_refused(attempt, *step.refusal, step.version);
  }
  if (step.broken) {
    throw_unwanted(attempt, "it broke the protocol of the handshake");
  }
  if (step.other_key) {
    throw_unwanted(attempt, concat("it has another key than this process",
                                   of_two_jobs(attempt.caller, attempt.caller.key)));
  }
  if (!send_all(fd, step.frame, deadline, why)) {
    return std::nullopt;
  }
  link.session = handshake.session();
  return link;
}

std::unique_ptr<StoreClient> try_to_join(const Attempt& attempt,
                                         const Deadline& deadline,
                                         std::string& why) {
  auto link = open_link(attempt, deadline, why);
  if (!link) {
    return nullptr;
  }
  auto client =
      std::make_unique<StoreClient>(std::move(*link), attempt.options, attempt.caller.name);
  const auto admission = client->wait_for_admission(deadline);
  if (admission.refusal) {
    throw_refused(attempt, *admission.refusal, kStoreVersion);
  }
  if (!admission.welcome) {
    why = admission.lost;
    return nullptr;
  }
  return client;
}

}  // namespace

std::unique_ptr<Store> connect_store(const StoreClientOptions& options) {
  return connect_store(options,
                       {.name = options.rank < 0 ? "an observer" : concat("rank ", options.rank)});
}

std::unique_ptr<Store> connect_store(const StoreClientOptions& options, const StoreCaller& caller) {
  const Attempt attempt{options, caller};
  if (options.job.size() > kMaxJobName) {
    throw_unwanted(attempt, concat("the job's name has ", options.job.size(),
                                   " bytes; the limit is ", kMaxJobName));
  }
  const Deadline deadline(options.connect_timeout);
  std::minstd_rand random(std::random_device{}());
  std::string why;
  milliseconds pause = kFirstPause;
  for (int tries = 1;; ++tries) {
    if (auto client = try_to_join(attempt, deadline, why)) {
      return client;
    }
    if (deadline.passed()) {
      throw cannot_join(
          attempt, ErrorCode::timeout,
          concat("timeout after ", seconds_text(options.connect_timeout), " and ", tries,
                 tries == 1 ? " try" : " tries", ", at last: ", why, "; is ", caller.server,
                 " running there, and does a firewall let its port through?"));
    }
    // Random pauses, so that many ranks that retry do not connect at the same time again.
    const milliseconds longest = std::min(pause, deadline.left());
    std::this_thread::sleep_for(longest / 2 +
                                milliseconds(std::uniform_int_distribution<milliseconds::rep>(
                                    0, longest.count() / 2)(random)));
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace bp
