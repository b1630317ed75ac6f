# Faults of ranks, hosts and networks, foreign connections, and what must work in spite of them. Sourced by
# scripts/acceptance.

# Kills a rank of a training job. Measures how long bprun takes to name it and to end with every process of the job.
# docs/acceptance.md, Failures: bprun names a killed rank of a training job, and all its processes end, within two
# seconds.
failures() {
  local signal mark job begin took worst=0 status=0
  for signal in KILL SEGV; do
    mark=BP_ACCEPTANCE=$$-$signal
    env "$mark" build/bin/bprun -H localhost:3,127.0.0.1:1 sh -c 'echo $$ >"$0.$RANK"; exec "$@"' "$work/pid" \
      "$PWD/build/bin/bert_train" examples/reviews.csv --text review --label label --steps 1000000 \
      --store "$work/failures.sqlite" --run "$work/failures-$signal" >"$work/failures.log" 2>&1 &
    job=$!
    until grep -q '"step":100,' "$work/failures-$signal/metrics.jsonl" 2>/dev/null; do
      kill -0 "$job" 2>/dev/null || break
      sleep 0.1
    done
    (($(marked "$mark" | wc -l) > 4)) || status=1  # bprun and its ranks; none of them may be left
    begin=${EPOCHREALTIME/./}
    kill "-$signal" "$(<"$work/pid.2")"
    wait "$job"
    [[ $? == $((128 + $(kill -l "$signal"))) ]] || status=1
    took=$(((${EPOCHREALTIME/./} - begin) / 1000))
    ((took > worst)) && worst=$took
    grep -q "FAILED  rank 2 on localhost .*SIG$signal" "$work/failures.log" || status=1
    [[ -z $(marked "$mark") ]] || status=1
    ((status)) && tail -5 "$work/failures.log"
  done
  ((worst <= 2000)) || status=1
  verdict failures "$status" "rank 2 of 4 killed: named, and all processes of the job ended within $worst ms (2,000 or less)"
}

# Stops a rank. bprun must name it 10 s after its last heartbeat, which it sends every 2 s, and the job must continue
# when the rank runs again.
# docs/acceptance.md, Failures: A rank that is stopped is named at the deadline. bprun names it after 10 s.
silent_rank() {
  local status=0 job begin named
  build/bin/bprun -n 3 sh -c 'echo $$ >"$0.$RANK"; exec "$@"' "$work/silent" \
    "$PWD/build/bin/bert_train" examples/reviews.csv --text review --label label --steps 300 \
    --store "$work/silent.sqlite" --run "$work/silent-run" >"$work/silent.log" 2>&1 &
  job=$!
  until grep -q '"step":20,' "$work/silent-run/metrics.jsonl" 2>/dev/null || ! kill -0 "$job" 2>/dev/null; do
    sleep 0.1
  done
  begin=${EPOCHREALTIME/./}
  kill -STOP "$(<"$work/silent.1")"
  until grep -q 'warning: rank 1 .* has sent no heartbeat' "$work/silent.log"; do
    (((${EPOCHREALTIME/./} - begin) < 30000000)) || { status=1; break; }
    sleep 0.1
  done
  named=$(((${EPOCHREALTIME/./} - begin) / 1000))
  kill -CONT "$(<"$work/silent.1")"
  wait "$job" || status=1
  grep -q 'rank 1 .* sends heartbeats again' "$work/silent.log" || status=1
  ((named >= 8000 && named <= 13000)) || status=1
  ((status)) && tail -5 "$work/silent.log"
  verdict silent_rank "$status" "a stopped rank was named after $named ms (8,000 to 13,000), and training continued when it ran again"
}

# Stalls the network under jobs, then cuts a cable.
# docs/acceptance.md, Networks: An outage of 3, 5 or 7 s, or of 25 s with `--lost-after 30s`, does no harm.
stalls() {
  local status=0
  tests/hosts/stalls build >"$work/stalls.log" 2>&1 || status=$?
  ((status)) && tail -5 "$work/stalls.log"
  verdict stalls "$status" "$(tail -1 "$work/stalls.log")"
}

# Tests the text, the exit code and the time of each fault of docs/faults.md.
# docs/acceptance.md, Networks: All that docs/faults.md promises holds on hosts with networks of their own.
faults() {
  local status=0
  tests/hosts/faults build >"$work/faults.log" 2>&1 || status=$?
  ((status)) && grep -v '^PASS' "$work/faults.log" | tail -20
  verdict faults "$status" "$(grep -c '^PASS' "$work/faults.log") of $(grep -c '^| `[a-z0-9_]*` ' docs/faults.md) faults have the text, the code and the time of docs/faults.md"
}

# Ends jobs with an all_reduce over slow links, links that lose packets and long ones.
# docs/acceptance.md, Networks: Nothing of a world's last operation is lost on links of 20 to 1,000 Mbit/s.
limited_links() {
  local status=0
  tests/acceptance/limited_links.py build >"$work/links.log" 2>&1 || status=$?
  cat "$work/links.log"
  verdict limited_links "$status" "$(grep -c 'PASS$' "$work/links.log") of 5 links: no job lost its end, or took longer than its bytes"
}

# Runs the tests of hosts over cables of 100 Mbit/s that lose 1 % of the packets.
# docs/acceptance.md, Networks: Jobs on several hosts work over cables of 100 Mbit/s that lose 1 % of the packets.
hosts_on_links() {
  local status=0
  BP_HOSTS_LINKS='--rate 100mbit --loss 1' ctest --test-dir build -L hosts >"$work/hosts.log" 2>&1 || status=$?
  ((status)) && grep -E 'FAILED|Failed|Timeout' "$work/hosts.log"
  verdict hosts_on_links "$status" "$(grep 'tests passed' "$work/hosts.log")"
}

# 10,000 unauthenticated connections to the store: idle ones, half handshakes, random bytes, lengths of 2^63, replays
# and reflections.
# docs/acceptance.md, Strangers: 10,000 strangers do not slow down the store's members, in bounded memory.
hostile_store() {
  local status=0 figure
  BP_SIEGE=10000 build/tests/unit_comm --gtest_filter='StoreSiege*' >"$work/siege.log" 2>&1 || status=$?
  figure=$(grep 'resident memory' "$work/siege.log")
  if grep -q SKIPPED "$work/siege.log"; then
    verdict hostile_store 77 "$(grep 'ulimit -Hn' "$work/siege.log")"
    return
  fi
  [[ $figure == 10000\ * ]] || status=1
  ((status)) && tail -5 "$work/siege.log"
  verdict hostile_store "$status" "members were served meanwhile; $figure (16,384 KiB or less)"
}

# Foreign clients connect to every port of a job as soon as it opens (tests/support/strangers.h): 1, 50 or 2,000 of
# them per port. 20 jobs combine each kind of job with each kind of client. Then 2,000 clients connect to a rank's
# port before the other rank does.
# docs/acceptance.md, Strangers: Strangers on every port of a job do no harm, over every backend.
strangers() {
  local kinds=(shm gloo gloo-native two_hosts serve) modes=(silent garbage slow replay) counts=(1 50 2000)
  local job kind mode count status unharmed=0 connections=0 made
  head -c 32 /dev/urandom >"$work/strangers.key"
  chmod 600 "$work/strangers.key"
  for job in {0..19}; do
    kind=${kinds[job % 5]} mode=${modes[job % 4]} count=${counts[job % 3]} status=0
    BP_JOB_KEY_FILE=$work/strangers.key timeout 120 build/tests/strangers "$mode" "$count" \
      bash -c "$(declare -f attacked_job); attacked_job $kind" >"$work/strangers.log" 2>&1 || status=$?
    made=$(sed -n 's/^strangers: .*ports, \([0-9]*\) connections$/\1/p' "$work/strangers.log")
    connections=$((connections + ${made:-0}))
    if ((status)); then
      printf 'strangers: job %d (%s, %d %s) ended with %d\n' "$job" "$kind" "$count" "$mode" "$status"
      tail -5 "$work/strangers.log"
    else
      unharmed=$((unharmed + 1))
    fi
  done
  status=0
  ((unharmed == 20)) || status=1
  verdict strangers "$status" "$unharmed of 20 jobs unharmed by $connections connections of strangers"
  status=0
  BP_SIEGE=2000 build/tests/unit_comm --gtest_filter='*StrangersThatComeFirst*' >"$work/strangers.log" 2>&1 || status=$?
  verdict strangers_first "$status" "$(grep -o 'refused .* connections' "$work/strangers.log")"
}

attacked_job() {  # attacked_job KIND, in the repository's root
  local what=(build/bin/comm_bench --sizes 4,64K --iterations 2000)
  case $1 in
    two_hosts) build/bin/bprun -H localhost:2,127.0.0.1:2 "${what[@]}" ;;
    serve)
      local log status=0 port=
      log=$(mktemp)
      build/bin/bprun --serve 0 -n 4 --slots 2 --start-timeout 60s "${what[@]}" 2>"$log" &
      until port=$(sed -n 's/.*serving on port \([0-9]*\);.*/\1/p' "$log") && [[ $port ]]; do sleep 0.05; done
      sleep 0.5  # so that the foreign clients connect first
      build/bin/bprun --join "127.0.0.1:$port" --slots 2 --start-timeout 60s || status=$?
      wait $! || status=$?
      cat "$log" >&2
      rm "$log"
      return "$status"
      ;;
    *) build/bin/bprun -n 4 "${what[@]}" --backend "$1" ;;
  esac
}

# Runs tests whose processes are stopped at random moments, as a hypervisor stops them. No time may decide them.
# docs/acceptance.md, Code: No time decides a test: all pass while their processes are stopped at random moments.
stolen_time() {
  local status=0
  tests/acceptance/stolen_time.py build '^(unit|ranks|launcher)_' >"$work/stolen.log" || status=$?
  ((status)) && cat "$work/stolen.log"
  verdict stolen_time "$status" "$(tail -1 "$work/stolen.log")"
}

# Runs four ranks, bprun and its agents with another malloc.
# docs/acceptance.md, Launcher: Other allocators work, in collectives and in training.
allocators() {
  local library name status=0 done_with=
  for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
    name=/usr/lib/$(uname -m)-linux-gnu/$library
    [[ -e $name ]] || { verdict allocators 77 "$library is not installed"; return; }
    # The loader ignores a library that it cannot load, so the library must be seen in /proc/self/maps.
    LD_PRELOAD=$name build/bin/bprun -n 1 grep -qF "$library" /proc/self/maps || status=1
    if ! LD_PRELOAD=$name build/bin/bprun -n 4 bert_train examples/reviews.csv --text review --label label --steps 20 \
      --store "$work/allocators.sqlite" --run "$work/run-$library" >"$work/allocators.log" 2>&1; then
      tail -5 "$work/allocators.log"
      status=1
    fi
    done_with+="${done_with:+, }$library (loss $(json "$work/run-$library/summary.json" 'round(j["train"]["loss"], 4)' 2>/dev/null))"
  done
  verdict allocators "$status" "20 steps of four ranks under $done_with"
}

# Collectives of more than 2^31 elements: of four bytes over Gloo, and of one byte by the algorithm of every
# operation.
# docs/acceptance.md, Values: Vectors of 2^31 elements and more arrive whole.
long_vectors() {
  local status=0
  BP_TEST_LONG=1 build/tests/ranks_comm --gtest_filter='LongVectors.*' >"$work/long.log" 2>&1 || status=$?
  grep -q SKIPPED "$work/long.log" && status=77
  verdict long_vectors "$status" "$(grep -o '[0-9]* tests from.* ran.*' "$work/long.log")"
}
