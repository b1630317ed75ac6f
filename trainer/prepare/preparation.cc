#include "trainer/prepare/preparation.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/quoted.h"
#include "base/system/usable_cores.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/numbers.h"
#include "trainer/common/say.h"
#include "trainer/common/stop_signals.h"
#include "trainer/common/whole_file.h"
#include "trainer/prepare/block_pipeline.h"
#include "trainer/prepare/lease.h"
#include "trainer/prepare/leftover.h"
#include "trainer/prepare/make_vocabulary.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/row_encoder.h"
#include "trainer/prepare/source_rows.h"
#include "trainer/prepare/survey.h"
#include "trainer/store/store_writer.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kBetweenReports{1};

// Makes the new name survive a power cut. If the folder cannot be synced, it may not survive.
void put_name_on_disk(const std::string& path) {
  try {
    sync_folder_of(path);
  } catch (const Error&) {
  }
}

// The writer has no use for more.
std::size_t encoding_threads(const PrepareOptions& options) {
  constexpr int kMost = 8;
  return static_cast<std::size_t>(
      options.threads > 0 ? options.threads : std::min(usable_cores().concurrent(), kMost));
}

// Puts what the user can do now where the remark offers --rebuild, which is refused once a run
// needs the store.
std::string remark_for(const Plan& plan, const std::string& remark) {
  return plan.options.run.empty() ? remark : with_rebuild(remark, another_place(plan));
}

Survey survey_all(const Plan& plan) {
  return survey(plan, TextRows(fs::path(plan.store).parent_path().string()), false);
}

// Reads the kept rows of all sources in order, block by block.
class KeptRowReader {
 public:
  // Leaves out the first `skipped` kept rows.
  KeptRowReader(const Plan& plan, const KeptRows& kept, std::int64_t skipped)
      : plan_(plan), kept_(kept), skipped_(skipped) {}

  // Fills the block with the next rows until it is full. Returns false if no row is left. Throws
  // what SourceRows throws.
  bool read(RowBlock& block) {
    block.clear();
    while (!block.full() && next()) {
      block.add({source_, rows_->number(), place_}, rows_->text(), rows_->fields());
    }
    return block.rows() > 0;
  }

 private:
  // Moves to the next kept row; returns false at the end of the last source.
  bool next() {
    for (; source_ < plan_.sources.size(); ++source_) {
      if (!rows_) rows_.emplace(plan_, plan_.sources[source_]);
      while (rows_->next()) {
        place_ = kept_.place(source_, rows_->number());
        if (place_ == 0) continue;
        if (skipped_ == 0) return true;
        --skipped_;
      }
      rows_.reset();
    }
    return false;
  }

  const Plan& plan_;
  const KeptRows& kept_;
  std::int64_t skipped_;
  std::optional<SourceRows> rows_;
  std::size_t source_ = 0;  // of rows_
  std::int64_t place_ = 0;  // of the current row among the kept rows of its source
};

class Preparation {
 public:
  Preparation(const Plan& plan, Lease& lease, const Say& progress)
      : plan_(plan),
        lease_(lease),
        progress_(progress),
        part_(part_path(plan.store, lease.token())),
        next_report_(Clock::now() + kBetweenReports) {}

  void run() {
    try {
      make();
    } catch (const Interrupted& stopped) {
      if (!writer_) throw;
      const std::int64_t kept = writer_->committed_texts();
      writer_->leave();
      throw Interrupted(concat(stopped.what(), "; ", with_commas(kept), " of ",
                               with_commas(all_rows_), " rows are prepared and kept"),
                        "the same command continues");
    } catch (const Error& error) {
      if (error.code() != ErrorCode::io) {
        throw;
      }
      throw InputError(70, concat(error.what(), "; ", space_text(plan_.store, still_needed())),
                       "free some space, or name a path on another disk with --store");
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  void say(const std::string& text) {
    lease_.say(text);
    progress_(quoted_line(text));
  }
  void make() {
    writer_ = continue_leftover(plan_, part_, [this](const std::string& text) { say(text); });
    remove_leftovers(plan_.store, part_);
    if (!writer_) {
      writer_ = begin();
    } else {
      Survey known = survey_again();
      chosen_.emplace(plan_, known);
    }
    const StoreSettings& settings = writer_->settings();
    all_rows_ =
        std::accumulate(settings.source_rows.begin(), settings.source_rows.end(), all_rows_);
    write_rows();
    check_sources();
    writer_->finish();
    publish();
  }
  // Reads everything that must be known before the first sample.
  [[nodiscard]] std::unique_ptr<StoreWriter> begin() {
    say(reading_text(plan_));
    Survey found = survey_all(plan_);
    chosen_.emplace(plan_, found);
    say_remarks(found);
    const Vocabulary vocabulary = make_vocabulary(
        plan_, [this](std::int64_t row) { return chosen_->trains(row); },
        [this](const std::string& text) { say(text); });
    return std::make_unique<StoreWriter>(part_,
                                         StoreSettings{.task = plan_.options.task->name(),
                                                       .schema = plan_.options.task->schema(),
                                                       .names = found.names,
                                                       .vocabulary = vocabulary.tokens,
                                                       .tokenizer = vocabulary.json(),
                                                       .pad_id = form_of(vocabulary).pad,
                                                       .lower_case = plan_.options.lower_case,
                                                       .max_length = plan_.options.max_length,
                                                       .fingerprint = plan_.fingerprint,
                                                       .source_rows = chosen_->kept().counts()});
  }
  // For a leftover, the store records the number of kept rows but not which they are.
  [[nodiscard]] Survey survey_again() const {
    const PrepareOptions& options = plan_.options;
    if (options.dedupe || options.stratify || options.task->leaves_out_rows()) {
      return survey_all(plan_);
    }
    Survey known;
    known.rows = writer_->settings().source_rows;
    return known;
  }
  // Tells the user about problems of the data, with the options that help.
  void say_remarks(Survey& found) {
    if (!plan_.file_split.remark.empty()) say(plan_.file_split.remark);
    for (const std::string& remark : found.remarks) say(remark_for(plan_, remark));
    if (plan_.options.dedupe) {
      say(concat("--dedupe leaves out ", with_commas(chosen_->repeats()), " of ",
                 with_commas(found.all_rows), " rows, whose texts other rows have too"));
      return;
    }
    const TextRows::Findings repeats = chosen_->repeats_in(*found.texts);
    if (repeats.dev_in_train + repeats.test_in_train > 0) {
      say(remark_for(
          plan_,
          concat(with_commas(repeats.dev_in_train), " of dev's texts and ",
                 with_commas(repeats.test_in_train),
                 " of test's are in train too, which makes scores too good; --dedupe --rebuild "
                 "keeps each text once")));
    }
  }
  // Several threads read and encode; this one writes.
  void write_rows() {
    struct Block {
      RowBlock rows;
      StoreBlock store;
      [[nodiscard]] std::size_t bytes() const { return rows.bytes(); }
    };
    const PipelineLimits limits{.workers = encoding_threads(plan_.options)};
    const std::string& last = plan_.sources.back().files.back().path;
    KeptRowReader reader(plan_, chosen_->kept(), writer_->texts());
    const std::vector<std::unique_ptr<SampleMaker>> makers = make_makers(limits.workers);
    BlockPipeline<Block>(
        {.read = [&](Block& block) { return reader.read(block.rows); },
         .work =
             [&](Block& block, std::size_t worker) {
               encode(plan_, *chosen_, *makers[worker], block.rows, block.store);
             },
         .take =
             [&](Block& block) {
               throw_if_stopping("reading", last);  // the reader may have finished long before
               writer_->add(block.store);
               block.rows.clear();  // a block that waits in the ring takes little memory
               block.store.clear();
               report();
             }},
        limits)
        .run();
  }
  // Each thread needs its own.
  [[nodiscard]] std::vector<std::unique_ptr<SampleMaker>> make_makers(std::size_t count) const {
    const StoreSettings& settings = writer_->settings();
    const Tokenizer tokenizer(stored_vocabulary(settings.vocabulary, settings.tokenizer),
                              settings.lower_case);
    std::vector<std::unique_ptr<SampleMaker>> makers(count);
    for (std::unique_ptr<SampleMaker>& maker : makers) {
      maker = plan_.options.task->make_maker(plan_.options, settings.names, tokenizer);
    }
    return makers;
  }
  void report() {
    if (Clock::now() < next_report_) return;
    check_lease();
    next_report_ = Clock::now() + kBetweenReports;
    say(concat("prepared ", with_commas(writer_->texts()), " of ", with_commas(all_rows_),
               " rows"));
  }
  void check_lease() const {
    if (lease_.lost()) {
      throw Error(ErrorCode::aborted,
                  concat("another process has taken over preparing ", plan_.store));
    }
  }
  // The sources are read several times, so they must not change in between.
  void check_sources() const {
    for (const SourceFiles& source : plan_.sources) {
      for (const DataFile& file : source.files) {
        if (stamp_of(file.path) == file.stamp) continue;
        throw InputError(65, concat(file.path, " was changed while it was being prepared"),
                         "start again when no program writes to it");
      }
    }
  }
  void publish() {
    try {
      check_lease();
      if (std::rename(part_.c_str(), plan_.store.c_str()) != 0) {
        throw Error(ErrorCode::io,
                    concat("cannot rename ", part_, " to ", plan_.store, ": ", error_text(errno)));
      }
    } catch (const Error&) {
      ::unlink(part_.c_str());
      throw;
    }
    put_name_on_disk(plan_.store);
    progress_(concat("prepared ", with_commas(all_rows_), " rows in ", plan_.store));
  }
  // Estimates the bytes that are still needed from the size of the committed rows; SQLite has
  // rolled back the others. Before the first commit, from the size of the sources.
  [[nodiscard]] std::uint64_t still_needed() const {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(part_, error);
    const std::int64_t committed = writer_ ? writer_->committed_texts() : 0;
    if (!error && committed > 0) {
      const double of_one = static_cast<double>(size) / static_cast<double>(committed);
      return static_cast<std::uint64_t>(of_one * static_cast<double>(all_rows_ - committed));
    }
    std::int64_t bytes = 0;
    for (const SourceFiles& source : plan_.sources) {
      for (const DataFile& file : source.files) bytes += file.stamp.size;
    }
    return static_cast<std::uint64_t>(bytes);
  }

  const Plan& plan_;
  Lease& lease_;
  const Say& progress_;
  std::string part_;
  std::unique_ptr<StoreWriter> writer_;
  std::optional<ChosenRows> chosen_;
  std::int64_t all_rows_ = 0;
  Clock::time_point next_report_;
};

}  // namespace

void make_store(const Plan& plan, Lease& lease, const Say& progress) {
  Preparation(plan, lease, progress).run();
}

}  // namespace bp::trainer
