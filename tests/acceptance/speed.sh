# Compares speed and memory with other systems by the scripts of bench/. Sourced by scripts/acceptance.

speed() {  # speed NAME SCRIPT...
  local name=$1 status=0
  shift
  "$@" >"$work/$name.log" 2>&1 || status=$?
  cat "$work/$name.log"
  verdict "$name" "$status" "$(tail -1 "$work/$name.log")"
}

speed_gloo() { speed speed_gloo bench/run_gloo_compare; }
speed_train() { speed speed_train bench/run_train_compare; }
speed_sst2() { needs_data speed_sst2 && speed speed_sst2 bench/run_sst2_compare; }
speed_families() { needs_data speed_families && speed speed_families bench/run_families; }
speed_tokenizer() { needs_data speed_tokenizer && speed speed_tokenizer bench/run_tokenizer_compare; }
speed_prepare() { needs_data speed_prepare && speed speed_prepare bench/run_prepare; }
speed_predict() { needs_data speed_predict && speed speed_predict bench/run_predict; }
speed_comm() { speed speed_comm bench/run_speed_comm --only all_reduce; }
speed_links() { speed speed_links bench/run_links; }
speed_store() { speed speed_store bench/run_store; }
speed_launcher() { speed speed_launcher bench/run_launcher; }
speed_shares() { speed speed_shares bench/run_work_shares; }
speed_rounds() { needs_data speed_rounds && speed speed_rounds bench/run_rounds; }
speed_sweep() { speed speed_sweep bench/run_sweep; }
footprint() { needs_data footprint && speed footprint bench/run_footprint; }
