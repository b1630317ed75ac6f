// The locale of a program changes nothing that ranks compare or send to each other.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <locale>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bp/collective.h"
#include "tests/support/run_processes.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;

// Writes 65,536 and 1;5, as the locales of some countries do.
class Grouping : public std::numpunct<char> {
  char do_decimal_point() const override { return ';'; }
  char do_thousands_sep() const override { return ','; }
  std::string do_grouping() const override { return "\3"; }
};

void set_grouping_locale(std::string_view moment, int rank) {
  const std::string_view rank_with_locale = std::getenv("LOCALE_OF");
  if (moment != std::getenv("LOCALE_SET")) return;
  if (rank_with_locale != "all" && rank_with_locale != std::to_string(rank)) return;
  std::locale::global(std::locale(std::locale::classic(), new Grouping));
}

RANK_BODY(locale) {
  set_grouping_locale("before", std::atoi(std::getenv("RANK")));
  Communicator world = Communicator::create();
  set_grouping_locale("after", world.rank());
  for (int i = 0; i < 1'100; ++i) barrier(world);
  Communicator group = world.split(world.rank() / 2);  // its name has the number of collectives
  std::vector<float> data(65'536, 1);
  all_reduce(group, view(data));
  EXPECT_EQ(data[0], static_cast<float>(group.size()));
  // The ranks that wait compare what they ask for.
  if (world.rank() == 2) std::this_thread::sleep_for(1500ms);
  all_reduce(world, view(data));
  // A message is longer than a packet, so its wait writes a note.
  if (world.rank() == 0) send(world, const_view(data), 2);
  if (world.rank() == 2) {
    std::this_thread::sleep_for(1500ms);
    receive(world, view(data), 0);
  }
  group.finish();
  world.finish();
  return 0;
}

// docs/acceptance.md, Values: A locale that groups digits, on one rank or on all, changes nothing.
TEST(Locale, OfARankChangesNoNumberThatRanksCompare) {
  for (const char* moment : {"before", "after"}) {
    for (const char* ranks : {"all", "1"}) {
      SCOPED_TRACE(std::string("set ") + moment + " create() by " + ranks);
      const std::vector<std::string> environment = {std::string("LOCALE_SET=") + moment,
                                                    std::string("LOCALE_OF=") + ranks};
      const bool on_two_hosts = (moment[0] == 'b') == (ranks[0] == '1');
      run_processes("locale", {.ranks = 3,
                               .local_sizes = on_two_hosts ? std::vector{2, 1} : std::vector{3},
                               .environment = environment});
    }
  }
}

}  // namespace
}  // namespace bp::test
