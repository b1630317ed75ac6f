"""Ray Tune's way to run many trials at once: a function for each trial, in workers of a local cluster. ray_pool.py TRIALS
SLOTS FOLDER runs /bin/true in every trial. Workers are used for one trial after the other, which is Ray's fastest way."""

import os
import subprocess
import sys

os.environ |= {"RAY_AIR_NEW_OUTPUT": "0", "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1", "RAY_TRAIN_V2_ENABLED": "0"}

import ray  # noqa: E402
from ray import tune  # noqa: E402


def objective(_parameters):
    return {"code": subprocess.run(["/bin/true"], check=True).returncode}


def main():
    trials, slots, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    ray.init(num_cpus=slots, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    tuner = tune.Tuner(objective, param_space={"i": tune.randint(1, 1_000_001)},
                       tune_config=tune.TuneConfig(num_samples=trials, reuse_actors=True),
                       run_config=tune.RunConfig(storage_path=os.path.abspath(folder), name="bench", verbose=0))
    results = tuner.fit()
    ray.shutdown()
    done = sum(result.metrics.get("code") == 0 for result in results)
    sys.exit(0 if done == trials and results.num_errors == 0 else f"{done} of {trials} trials are complete")


if __name__ == "__main__":
    main()
