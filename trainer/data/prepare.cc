#include "trainer/data/prepare.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <thread>

#include "bp/error.h"
#include "comm/base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/numbers.h"
#include "trainer/data/plan.h"
#include "trainer/data/split.h"
#include "trainer/data/store_writer.h"
#include "trainer/data/survey.h"
#include "trainer/text/tokenizer.h"
#include "trainer/text/vocabulary_training.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using Say = std::function<void(const std::string&)>;

// Whether a store lies there that may be used. Throws when something else does, or another store
// and no --rebuild.
bool usable_store_is_there(const Plan& plan, bool rebuild) {
  if (!fs::exists(plan.store)) {
    return false;
  }
  std::string reason;
  try {
    reason = difference(SampleStore::open(plan.store).fingerprint(), plan.fingerprint);
  } catch (const Error& error) {
    throw InputError(2, concat("cannot use what lies in the place of the store: ", error.what()),
                     "move it away, or name another place with --store");
  }
  if (rebuild) {
    return false;
  }
  if (!reason.empty()) {
    throw InputError(2, concat("the store ", plan.store, " was made otherwise: ", reason),
                     "--rebuild makes it anew, --store makes another beside it");
  }
  return true;
}

// Makes the store while the lease is held.
class Preparation {
 public:
  Preparation(const Plan& plan, Lease& lease, const Say& progress)
      : plan_(plan), lease_(lease), progress_(progress) {}

  void run() {
    say("reading " + plan_.options.source);
    survey_ = survey(plan_);
    if (plan_.split_by_share) {
      shares_.emplace(survey_.rows[0], plan_.options.split, plan_.options.seed);
    }
    const Vocabulary vocabulary = make_vocabulary();
    Tokenizer tokenizer(vocabulary, plan_.options.lower_case);
    remove_leftovers();
    const std::string part = concat(plan_.store, ".part-", lease_.token());
    StoreWriter writer(part, {survey_.labels, vocabulary.tokens, plan_.options.lower_case,
                              plan_.options.max_length, plan_.fingerprint});
    for (const SourceFile& source : plan_.sources) {
      write_source(source, tokenizer, writer);
    }
    writer.finish();
    publish(part);
  }

 private:
  void say(const std::string& text) {
    lease_.say(text);
    progress_(text);
  }

  [[nodiscard]] Split split_of(const SourceFile& source, std::int64_t row) const {
    return shares_ ? shares_->of(row) : source.split;
  }

  Vocabulary make_vocabulary() {
    if (!plan_.options.vocabulary.empty()) {
      try {
        return Vocabulary::read(plan_.options.vocabulary);
      } catch (const Error& error) {
        throw InputError(65, error.what(), "--vocab takes the vocab.txt of a BERT model");
      }
    }
    say("training a vocabulary");
    const SourceFile& source = plan_.sources[0];
    VocabularyTrainer trainer(plan_.options.lower_case);
    for_each_row(source, [&](const SourceRow& row) {
      if (split_of(source, row.number) == Split::train) {
        trainer.add(row.text);
      }
    });
    return trainer.train(plan_.options.vocabulary_size);
  }

  // Parts of preparers that were killed: nobody but the holder of the lease writes any.
  void remove_leftovers() const {
    const fs::path store(plan_.store);
    const std::string prefix = store.filename().string() + ".part-";
    const fs::path folder = store.has_parent_path() ? store.parent_path() : fs::path(".");
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.path().filename().string().starts_with(prefix)) {
        fs::remove(entry.path(), ignored);
      }
    }
  }

  void write_source(const SourceFile& source, Tokenizer& tokenizer, StoreWriter& writer) {
    for_each_row(source, [&](const SourceRow& row) {
      const Split split = split_of(source, row.number);
      const auto label = std::find(survey_.labels.begin(), survey_.labels.end(), row.label);
      write_text(
          row, split,
          label == survey_.labels.end() ? -1 : static_cast<int>(label - survey_.labels.begin()),
          tokenizer, writer);
      count_row();
    });
  }

  // [CLS] window [SEP], the windows one after the other; of an empty text [CLS] [SEP].
  void write_text(
      const SourceRow& row, Split split, int label, Tokenizer& tokenizer, StoreWriter& writer) {
    writer.add_text(split, row.number, row.text);
    ids_.clear();
    tokenizer.encode(row.text, ids_);
    const auto window = static_cast<std::size_t>(plan_.options.max_length - 2);
    if (plan_.options.long_text == LongText::truncate) {
      ids_.resize(std::min(ids_.size(), window));
    }
    std::size_t begin = 0;
    do {
      const std::size_t end = std::min(begin + window, ids_.size());
      sample_.assign(1, tokenizer.cls_id());
      sample_.insert(sample_.end(), ids_.begin() + static_cast<std::ptrdiff_t>(begin),
                     ids_.begin() + static_cast<std::ptrdiff_t>(end));
      sample_.push_back(tokenizer.sep_id());
      writer.add_sample(split, row.number, label, sample_);
      begin = end;
    } while (begin < ids_.size());
  }

  void count_row() {
    constexpr std::int64_t kBetween = 1000;
    ++done_;
    if (done_ % kBetween == 0 && Clock::now() >= next_report_) {
      check_lease();
      next_report_ = Clock::now() + std::chrono::seconds(1);
      say(concat("prepared ", with_commas(done_), " of ", with_commas(survey_.all_rows), " rows"));
    }
  }

  void check_lease() const {
    if (lease_.lost()) {
      throw Error(ErrorCode::aborted,
                  concat("another process has taken over preparing ", plan_.store));
    }
  }

  void publish(const std::string& part) const {
    try {
      check_lease();
      if (std::rename(part.c_str(), plan_.store.c_str()) != 0) {
        throw Error(ErrorCode::io,
                    concat("cannot rename ", part, " to ", plan_.store, ": ", error_text(errno)));
      }
    } catch (const Error&) {
      ::unlink(part.c_str());
      throw;
    }
    progress_(concat("prepared ", with_commas(survey_.all_rows), " rows in ", plan_.store));
  }

  using Clock = std::chrono::steady_clock;

  const Plan& plan_;
  Lease& lease_;
  const Say& progress_;
  Survey survey_;
  std::optional<SplitByShare> shares_;
  std::int64_t done_ = 0;
  Clock::time_point next_report_ = Clock::now() + std::chrono::seconds(1);
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> sample_;
};

// True when another process had the lease before.
bool wait_for(Lease& lease, const Say& progress, const LeaseTimes& times) {
  bool waited = false;
  std::string said;
  while (!lease.try_take()) {
    waited = true;
    if (const std::string holder = lease.holder(); holder != said) {
      said = holder;
      progress("waiting for " + holder);
    }
    std::this_thread::sleep_for(times.renewal / 20);
  }
  return waited;
}

}  // namespace

PrepareResult prepare(const PrepareOptions& options, const Say& progress, const LeaseTimes& times) {
  const Plan plan = make_plan(options);
  bool rebuild = options.rebuild;
  for (;;) {
    const PrepareResult reused{plan.store, true};
    if (usable_store_is_there(plan, rebuild)) {
      progress("using the store " + plan.store + ", which matches");
      return reused;
    }
    Lease lease(plan.store + ".lease", times);
    if (wait_for(lease, progress, times)) {
      rebuild = false;  // should the other have done it
    }
    if (usable_store_is_there(plan, rebuild)) {
      return reused;
    }
    try {
      Preparation(plan, lease, progress).run();
      return {plan.store, false};
    } catch (const Error&) {
      if (!lease.lost()) {
        throw;
      }
    }
  }
}

}  // namespace bp::trainer
