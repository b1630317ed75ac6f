#include "trainer/prepare/plan.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "base/input_error.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "trainer/common/look_up.h"
#include "trainer/input/open_input.h"
#include "trainer/prepare/data_files.h"
#include "trainer/prepare/fingerprint.h"
#include "trainer/store/immutable_database.h"
#include "trainer/store/store_tables.h"

namespace bp::trainer {
namespace {

[[noreturn]] void refuse_plan(const std::string& text, const std::string& hint) {
  throw InputError(2, text, hint);
}

void check_stratify(const PrepareOptions& options) {
  if (!options.task->has_strata()) {
    refuse_plan(
        concat("--stratify needs a task with classes, and ", options.task->name(), " has none"),
        "leave out --stratify");
  }
  if (!options.dev_source.empty() || !options.test_source.empty()) {
    refuse_plan("--stratify divides the rows of one file, but --dev or --test names one",
                "leave out --stratify");
  }
}

// Whether one source is divided, and not scored or trained on whole.
bool divides(const PrepareOptions& options) {
  return !options.scored && options.dev_source.empty() && options.test_source.empty();
}

void check_options(const PrepareOptions& options) {
  if (options.max_length < 3) {
    refuse_plan(concat("max length ", options.max_length, " leaves no room for a token"),
                "[CLS] and [SEP] take two positions: the minimum is 3, the default 128");
  }
  constexpr int kSmallestVocabulary = 6;
  if (options.vocabulary.empty() && options.vocabulary_size < kSmallestVocabulary) {
    refuse_plan(concat("a vocabulary of ", options.vocabulary_size, " tokens is too small"),
                "8000 is the default");
  }
  if (options.scored && options.vocabulary.empty()) {
    refuse_plan(concat("the vocabulary of the model is needed to score ", options.source),
                "name the vocab.txt that the model was trained with: --vocab");
  }
  require_split(options.split);
  if (options.stratify) check_stratify(options);
  if (options.divider == Divider::data && !divides(options)) {
    refuse_plan(
        "--split data divides the rows of one file as it says, but --dev or --test names one",
        "leave out --split data");
  }
  if (options.divider == Divider::data && options.stratify) {
    refuse_plan("--stratify divides by share, and --split data as the file says",
                "leave out one of them");
  }
}

constexpr const char* kStoreSuffix = ".sqlite";

std::string default_store(const std::string& file) {
  const std::string source = without_slashes(unpacked_name(file));
  const std::size_t slash = source.find_last_of('/');
  const std::size_t dot = source.find_last_of('.');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  const bool has_suffix = dot != std::string::npos && dot > name;
  const std::string stem = source.substr(0, has_suffix ? dot : source.size());
  return concat(stem, is_store_name(source) ? ".store" : "", kStoreSuffix);
}

DataFile look_at(const PrepareOptions& options,
                 const std::string& path,
                 Split split,
                 HeaderMode header) {
  std::optional<TableLayout> layout;
  if (!options.task->has_own_format(path)) {
    layout = inspect_table({path, options.format, header, options.task->fields(), options.separator,
                            options.backslash, options.encoding,
                            split == Split::test ? Answers::in_some_rows : Answers::needed});
  }
  return {path, layout, stamp_of(path)};
}

HeaderMode header_of_others(const PrepareOptions& options,
                            const std::optional<TableLayout>& layout) {
  if (!layout || layout->format.text == TextFormat::jsonl) return options.header;
  return layout->header ? HeaderMode::yes : HeaderMode::no;
}

// All files have the same columns and header as the first, so one setting serves all.
SourceFiles make_source(const PrepareOptions& options,
                        const std::vector<std::string>& paths,
                        Split split,
                        HeaderMode header) {
  SourceFiles source{.name = paths.front(), .split = split, .files = {}};
  for (const std::string& path : paths) {
    source.files.push_back(look_at(options, path, split, header));
    header = header_of_others(options, source.layout());
  }
  const auto more = paths.size() - 1;
  if (more > 0) source.name += concat(" and ", more, more == 1 ? " more file" : " more files");
  return source;
}

void require_other_place(const Plan& plan) {
  for (const SourceFiles& source : plan.sources) {
    for (const DataFile& file : source.files) {
      std::error_code ignored;
      if (file.path != plan.store && !std::filesystem::equivalent(file.path, plan.store, ignored)) {
        continue;
      }
      refuse_plan(concat("the store ", plan.store, " would replace its source"),
                  plan.options.store.empty()
                      ? "name it with --store"
                      : concat("--store names the file that bert_train makes of the data: leave it "
                               "out, or name another file, such as ",
                               quote_shell_word(default_store(file.path))));
    }
  }
}

// Returns how the only source divides its rows, unless shares are to divide them.
FileSplit own_split(const Plan& plan) {
  const PrepareOptions& options = plan.options;
  const SourceFiles& source = plan.sources.front();
  const bool by_shares = options.divider == Divider::shares || options.stratify;
  if (by_shares) return {};
  FileSplit split;
  if (source.files.size() == 1 && !source.layout()) {
    split = options.task->split_in(source.files.front().path);
  }
  if (options.divider == Divider::data && split.of_rows.empty()) {
    refuse_plan(split.remark.empty() ? concat(source.name, " does not say how its rows are divided")
                                     : split.remark,
                "give the shares: --split 0.8,0.1,0.1");
  }
  return split;
}

// The folders . and .. have no name that a store could have.
void require_name(const Plan& plan) {
  if (std::filesystem::path(plan.store).filename() != concat(".", kStoreSuffix)) return;
  refuse_plan(concat("the folder ", plan.options.source, " gives the store no name"),
              "name it with --store");
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    return {};
  }
  return {status.st_size, status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec};
}

void require_split(const std::array<double, 3>& split) {
  const bool in_range =
      std::all_of(split.begin(), split.end(), [](double s) { return s >= 0 && s <= 1; });
  if (!in_range || split[0] <= 0 || std::abs(split[0] + split[1] + split[2] - 1) > 1e-6) {
    refuse_plan(concat("split ", split[0], ",", split[1], ",", split[2],
                       " does not divide into train, dev and test"),
                "three shares that sum to 1, the first above 0: 0.8,0.1,0.1");
  }
}

bool is_store_name(const std::string& data) { return data.ends_with(kStoreSuffix); }

bool is_store(const std::string& data) {
  return is_store_name(data) &&
         application_of(data).value_or(kStoreApplication) == kStoreApplication;
}

std::string reading_text(const Plan& plan) {
  const SourceFiles& source = plan.sources.front();
  const std::optional<TableLayout>& layout = source.layout();
  if (!layout || layout->format.has_usual_separator()) return "reading " + source.name;
  return concat("reading ", source.name, ", with a ", separator_name(layout->format.separator),
                " between its fields");
}

std::string another_place(const Plan& plan) {
  namespace fs = std::filesystem;
  const auto free_name = [](const std::string& path, const std::string& suffix) {
    const bool has_suffix = path.ends_with(suffix);
    const std::string stem = path.substr(0, path.size() - (has_suffix ? suffix.size() : 0));
    std::error_code ignored;
    for (int number = 2;; ++number) {
      std::string name = concat(stem, "-", number, has_suffix ? suffix : "");
      if (!fs::exists(name, ignored)) return name;
    }
  };
  const std::string& store = plan.options.store;
  const std::string& run = plan.options.run;
  return concat(store.empty() ? "" : "--store " + quote_shell_word(free_name(store, kStoreSuffix)),
                store.empty() || run.empty() ? "" : " ",
                run.empty() ? "" : "--run " + quote_shell_word(free_name(run, "")));
}

std::string store_path(const PrepareOptions& options) {
  return options.store.empty() ? default_store(options.source) : options.store;
}

Plan make_plan(const PrepareOptions& options) {
  BP_CHECK(options.task != nullptr, "a preparation needs a task");
  check_options(options);
  Plan plan;
  plan.options = options;
  plan.store = store_path(options);
  const bool scored = options.scored;
  plan.divided = divides(options);
  plan.sources.push_back(make_source(options,
                                     data_files(options.source, options.more_sources, options),
                                     scored ? Split::test : Split::train, options.header));
  const HeaderMode header = header_of_others(options, plan.sources[0].layout());
  const auto add = [&](const std::string& path, Split split) {
    if (path.empty()) return;
    plan.sources.push_back(make_source(options, data_files(path, options), split, header));
  };
  add(options.dev_source, Split::dev);
  add(options.test_source, Split::test);
  if (plan.divided) plan.file_split = own_split(plan);
  require_other_place(plan);
  require_name(plan);
  plan.fingerprint = make_fingerprint(plan);
  return plan;
}

}  // namespace bp::trainer
