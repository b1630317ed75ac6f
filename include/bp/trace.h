// A timeline of this rank for https://ui.perfetto.dev or chrome://tracing. Each rank writes one
// file in Chrome's trace event format, which is valid JSON at any time. The communicator adds its
// collectives, its waits for other ranks, and what was started asynchronously (row "buckets"). A
// program may add rows of its own:
//
//   {
//     const bp::TraceScope scope(world.trace(), "compute", "forward");
//     loss = model.forward(batch);
//   }
//
// All ranks use the clock of rank 0, so their files can be shown together:
// jq -s add rank-*.json > all.json
//
// Threads: any.
#pragma once

#include <chrono>
#include <exception>
#include <string_view>

#include "bp/export.h"

namespace BP_API bp {

class Trace {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Span {
    std::string_view row;
    std::string_view name;
    Time begin;
    Time end;
    std::string_view arguments = {};  // members of a JSON object: R"("bytes":4,"step":7)"
  };

  Trace() = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  virtual ~Trace() = default;

  // Adds a span. Two spans of one row must be disjoint, or one must contain the other.
  virtual void add(const Span& span) = 0;
  // Adds a span to a row in which spans may overlap.
  virtual void add_overlapping(const Span& span) = 0;
};

// Adds a span that lasts from its construction to its end. Does nothing if `trace` is null. The
// memory of both texts must live as long.
class TraceScope {
 public:
  TraceScope(Trace* trace, std::string_view row, std::string_view name) : trace_(trace) {
    if (trace_ != nullptr) span_ = {.row = row, .name = name, .begin = now(), .end = {}};
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;
  ~TraceScope() {
    if (trace_ == nullptr) return;
    span_.end = now();
    try {
      trace_->add(span_);
    } catch (const std::exception&) {
      // The span is left out if there is no memory for it.
    }
  }

 private:
  static Trace::Time now() { return std::chrono::steady_clock::now(); }

  Trace* trace_;
  Trace::Span span_ = {};
};

}  // namespace bp
