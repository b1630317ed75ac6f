#include "base/system/name_service.h"

#include <cerrno>
#include <future>
#include <utility>

#include "base/system/thread.h"
#include "base/text.h"

namespace bp {
namespace {

struct Reply {
  Addresses addresses{nullptr, &::freeaddrinfo};
  std::string why;
};

Reply look_up(const NameQuery& query, int flags, const Lookup& lookup) {
  addrinfo hints{};
  hints.ai_socktype = query.socket_type;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int error = lookup(query.host.c_str(), query.port.c_str(), &hints, &found);
  Reply answer;
  if (error == 0) {
    answer.addresses.reset(found);
  } else {
    answer.why = error == EAI_SYSTEM ? error_text(errno) : ::gai_strerror(error);
  }
  return answer;
}

}  // namespace

Addresses resolve(const NameQuery& query,
                  const Deadline& deadline,
                  std::string& why,
                  const Lookup& lookup) {
  if (Reply numeric = look_up(query, AI_NUMERICHOST, lookup); numeric.addresses) {
    return std::move(numeric.addresses);
  }
  const auto promise = std::make_shared<std::promise<Reply>>();
  auto future = promise->get_future();
  start_thread("bp-resolve", [query, lookup, promise] {
    promise->set_value(look_up(query, 0, lookup));
  }).detach();
  if (future.wait_until(deadline.at()) != std::future_status::ready) {
    why = concat("the name service has not answered for ", query.host);
    return {nullptr, &::freeaddrinfo};
  }
  Reply answer = future.get();
  why = answer.why;
  return std::move(answer.addresses);
}

}  // namespace bp
