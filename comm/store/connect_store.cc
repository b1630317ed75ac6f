// How a client connects: it retries until the server answers, and then does the handshake.
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

std::string client_name(const StoreClientOptions& options) {
  return options.rank < 0 ? "an observer" : concat("rank ", options.rank);
}

[[noreturn]] void throw_unwanted(const StoreClientOptions& options, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, concat(client_name(options), " cannot join the store ",
                                                  options.address.text(), ": ", why));
}

[[noreturn]] void throw_refused(const StoreClientOptions& options,
                                StoreRefusal reason,
                                std::uint32_t version) {
  switch (reason) {
    case StoreRefusal::version:
      throw_unwanted(options, concat("it speaks version ", version,
                                     " of the protocol, this program ", "version ", kStoreVersion,
                                     "; bprun and the program must be of one bp release"));
    case StoreRefusal::job:
      throw_unwanted(options, concat("it serves another job than ", in_quotes(options.job),
                                     "; BP_STORE and BP_JOB are not of one job"));
    case StoreRefusal::rank_range:
      throw_unwanted(options, "its job has no such rank; RANK is not of this job");
    case StoreRefusal::rank_taken:
      throw_unwanted(options,
                     "that rank has joined already; is a second process running with the "
                     "same RANK?");
  }
  throw_unwanted(options, concat("it refused for reason ", static_cast<std::int64_t>(reason)));
}

// Returns one whole frame of the handshake. Throws if the bytes are not such a frame, because the
// peer is not a store then. Returns nothing, with the reason in `why`, if the connection ends.
std::optional<HandshakeBody> receive_handshake(const StoreClientOptions& options,
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
      throw_unwanted(options, "the process at that address is not a bp store; is BP_STORE right?");
    }
    if (!receive_some(link.socket.get(), link.received, deadline, why)) {
      return std::nullopt;
    }
  }
}

Fd connect_to_store(const StoreClientOptions& options, const Deadline& deadline, std::string& why) {
  try {
    return connect_tcp(options.address, deadline, why);
  } catch (const Error& error) {
    throw Error(error.code(), concat(client_name(options), " cannot join the store ",
                                     options.address.text(), ": ", error.what()));
  }
}

// Returns nothing, with the reason in `why`, if a retry may help; throws if it cannot.
std::optional<StoreLink> open_link(const StoreClientOptions& options,
                                   const Deadline& deadline,
                                   std::string& why) {
  StoreLink link{.socket = connect_to_store(options, deadline, why)};
  if (!link.socket) {
    return std::nullopt;
  }
  ClientHandshake handshake(options.key, options.job, options.rank);
  const int fd = link.socket.get();
  if (!send_all(fd, handshake.hello(), deadline, why)) {
    return std::nullopt;
  }
  const auto answer = receive_handshake(options, link, deadline, why);
  if (!answer) {
    return std::nullopt;
  }
  const auto step = handshake.take_challenge(*answer);
  if (step.refusal) {
    throw_refused(options, *step.refusal, step.version);
  }
  if (step.broken) {
    throw_unwanted(options, "it broke the protocol of the handshake");
  }
  if (step.other_key) {
    throw_unwanted(options,
                   "it has another key than this process; BP_STORE and BP_KEY_FD are not "
                   "of one job");
  }
  if (!send_all(fd, step.frame, deadline, why)) {
    return std::nullopt;
  }
  link.session = handshake.session();
  return link;
}

std::unique_ptr<StoreClient> try_to_join(const StoreClientOptions& options,
                                         const Deadline& deadline,
                                         std::string& why) {
  auto link = open_link(options, deadline, why);
  if (!link) {
    return nullptr;
  }
  auto client = std::make_unique<StoreClient>(std::move(*link), options);
  const auto admission = client->wait_for_admission(deadline);
  if (admission.refusal) {
    throw_refused(options, *admission.refusal, kStoreVersion);
  }
  if (!admission.welcome) {
    why = admission.lost;
    return nullptr;
  }
  return client;
}

}  // namespace

std::unique_ptr<Store> connect_store(const StoreClientOptions& options) {
  if (options.job.size() > kMaxJobName) {
    throw_unwanted(options, concat("the job's name has ", options.job.size(),
                                   " bytes; the limit is ", kMaxJobName));
  }
  const Deadline deadline(options.connect_timeout);
  std::minstd_rand random(std::random_device{}());
  std::string why;
  milliseconds pause = kFirstPause;
  for (int tries = 1;; ++tries) {
    if (auto client = try_to_join(options, deadline, why)) {
      return client;
    }
    if (deadline.passed()) {
      throw Error(ErrorCode::timeout,
                  concat(client_name(options), " cannot join the store ", options.address.text(),
                         ": timeout after ", seconds_text(options.connect_timeout), " and ", tries,
                         tries == 1 ? " try" : " tries", ", at last: ", why,
                         "; is bprun running there, and does a firewall let its port through?"));
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
