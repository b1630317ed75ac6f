#include "launcher/protocol/sealed_job.h"

#include <utility>
#include <variant>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/protocol/frame.h"
#include "launcher/protocol/munge.h"

namespace bp::launcher {
namespace {

constexpr std::string_view kPurpose = "bprun job";

// What munge vouches for. The ends differ, so that none can be given its own words.
std::string agents_words(std::string_view public_key) { return concat("bprun agent ", public_key); }
std::string launchers_words(std::string_view public_key, std::string_view agents_key) {
  return concat("bprun launcher ", public_key, agents_key);
}

[[noreturn]] void refuse_job(const std::string& why) {
  throw Error(ErrorCode::io, concat("the job cannot be decrypted: ", why));
}

}  // namespace

JobReceiver::JobReceiver()
    : credential_(vouch_by_munge(agents_words(view_of(exchange_.public_key())))) {}

void JobReceiver::introduce(Hello& hello) const {
  hello.public_key = view_of(exchange_.public_key());
  hello.credential = credential_;
}

JobSpec JobReceiver::open(const SealedJob& sealed) const {
  if (!credential_.empty()) {
    const std::string doubt = doubt_by_munge(
        sealed.credential, launchers_words(sealed.public_key, view_of(exchange_.public_key())));
    if (!doubt.empty()) refuse_job(doubt);
  }
  const auto key = exchange_.shared_key(sealed.public_key, kPurpose);
  const auto text = key ? decrypt_once(*key, sealed.text) : std::nullopt;
  FrameReader reader;
  if (text) reader.feed(*text);
  const auto frame = reader.next();
  if (!frame) refuse_job("it was altered on its way from bprun, or is another agent's");
  auto message = decode_to_agent(*frame);
  auto* const spec = std::get_if<JobSpec>(&message);
  if (spec == nullptr) refuse_job("it is another message");
  return std::move(*spec);
}

SealedJob seal_job(const JobSpec& spec, const Hello& hello) {
  const KeyExchange exchange;
  const std::string_view own = view_of(exchange.public_key());
  const auto key = exchange.shared_key(hello.public_key, kPurpose);
  if (!key) {
    throw Error(ErrorCode::io, concat("the agent on ", hello.host_name,
                                      " named no key, so the job's key would travel as plain text "
                                      "through srun; did srun start it?"));
  }
  SealedJob sealed{.public_key = std::string(own),
                   .credential = vouch_by_munge(launchers_words(own, hello.public_key)),
                   .text = encrypt_once(*key, encode(ToAgent(spec)))};
  const std::string doubt = sealed.credential.empty()
                                ? ""
                                : doubt_by_munge(hello.credential, agents_words(hello.public_key));
  if (!doubt.empty()) {
    throw Error(ErrorCode::io, concat("munge does not vouch for the agent on ", hello.host_name,
                                      ": ", doubt, "; does munged run there, with the same key?"));
  }
  return sealed;
}

}  // namespace bp::launcher
