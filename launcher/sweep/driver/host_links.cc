#include "launcher/sweep/driver/host_links.h"

#include <algorithm>
#include <utility>

#include "bp/error.h"
#include "launcher/process/program.h"
#include "launcher/process/shell_words.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::chrono::milliseconds kFirstTryAgain{1000};  // doubled each time
constexpr std::chrono::milliseconds kLongestTryAgain{30'000};

}  // namespace

struct HostLinks::Link {
  std::unique_ptr<HostConnection> connection = {};
  bool first = true;  // it has neither answered nor failed yet
  bool present = false;
  int failures = 0;  // since it last answered
  EventLoop::TimerId timer = 0;
};

HostLinks::HostLinks(EventLoop& loop,
                     const JobPlan& plan,
                     std::chrono::milliseconds start_timeout,
                     Listener listener)
    : loop_(loop), plan_(plan), start_timeout_(start_timeout), listener_(std::move(listener)) {
  for (const AgentStart& host : plan.hosts) {
    links_.push_back(host.local ? nullptr : std::make_unique<Link>());
  }
  if (std::ranges::none_of(links_, [](const auto& link) { return link != nullptr; })) {
    return;
  }
  server_ = std::make_unique<RelayServer>(loop_, [this](const std::string& name) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (links_[i] && plan_.placement[i].host.name == name) return links_[i]->connection.get();
    }
    return static_cast<HostConnection*>(nullptr);
  });
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (links_[i]) connect(i);
  }
}

HostLinks::~HostLinks() {
  server_.reset();
  for (const auto& link : links_) {
    if (link) loop_.cancel(link->timer);
  }
}

bool HostLinks::any_pending() const {
  return std::ranges::any_of(links_, [](const auto& link) { return link && link->first; });
}

std::string HostLinks::ssh() const {
  return server_ ? quote_shell_words({own_program(), "--through", server_->path()}) : "";
}

void HostLinks::connect(std::size_t host) {
  Link& link = *links_[host];
  link.connection.reset();
  try {
    link.connection = std::make_unique<HostConnection>(
        loop_, plan_.hosts[host].command, start_timeout_,
        HostConnection::Listener{[this, host](int cores) { ready(host, cores); },
                                 [this, host](const std::string& why) { lost(host, why); }});
  } catch (const Error& error) {
    lost(host, error.what());
  }
}

void HostLinks::ready(std::size_t host, int cores) {
  Link& link = *links_[host];
  link.first = false;
  link.present = true;
  link.failures = 0;
  listener_.on_present(host, cores);
}

void HostLinks::lost(std::size_t host, const std::string& why) {
  Link& link = *links_[host];
  const bool is_news = link.first || link.present;
  link.first = false;
  link.present = false;
  const auto wait =
      std::min(kLongestTryAgain, kFirstTryAgain * (1 << std::min(link.failures++, 10)));
  loop_.cancel(link.timer);
  link.timer = loop_.after(wait, [this, host] { connect(host); });
  if (is_news) listener_.on_lost(host, why);
}

void HostLinks::lose(std::size_t host, const std::string& why) {
  if (links_[host] && links_[host]->present) {
    // Its destructor reports nothing, and ends the commands that still run.
    links_[host]->connection.reset();
    lost(host, why);
  }
}

}  // namespace bp::launcher::sweep
