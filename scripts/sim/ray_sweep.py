#!/usr/bin/env python3
"""Runs a sweep of motemix-lab sim on a Ray cluster.

One task for each run calls the program; results go to the same journal as those of a local sweep, so that either goes on
where the other stopped, and the tables are the same byte for byte. The program and the scenario's file have to be at the same
paths on every machine of the cluster.

    scripts/setup python ray
    .venv/bin/python scripts/sim/ray_sweep.py scenarios/anonymity.toml --out results
    .venv/bin/python scripts/sim/ray_sweep.py scenarios/anonymity.toml --out results --address auto
"""

import argparse
import json
import pathlib
import subprocess
import sys

import ray


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("scenario", type=pathlib.Path, help="a scenario with a section [sweep]")
    words.add_argument("--out", type=pathlib.Path, required=True, help="where the results go")
    words.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="as of motemix-lab sim sweep")
    words.add_argument("--program", type=pathlib.Path, default=pathlib.Path("target/release/motemix-lab"))
    words.add_argument("--address", help="of the cluster; without it, one on this machine is started and ended")
    words.add_argument("--cpus", type=int, help="of the cluster on this machine; all by default")
    said = words.parse_args()

    program = str(said.program.resolve())
    scenario = [str(said.scenario.resolve()), *(word for value in said.set for word in ("--set", value))]
    sweep = [program, "sim", "sweep", *scenario, "--out", str(said.out)]
    due = subprocess.run([*sweep, "--list"], check=True, capture_output=True, text=True).stdout
    due = [json.loads(line)["id"] for line in due.splitlines()]
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout

    if said.address:
        ray.init(address=said.address, log_to_driver=False)
    else:
        ray.init(num_cpus=said.cpus, include_dashboard=False, log_to_driver=False)

    # Results come from many machines and are written down in one place.
    writer = subprocess.Popen([*sweep, "--take"], stdin=subprocess.PIPE, text=True)
    try:
        under_way = [outcome_of.remote(program, version, scenario, run) for run in due]
        while under_way:
            done, under_way = ray.wait(under_way)
            for run, outcome in ray.get(done):
                writer.stdin.write(f'{{"run": {run}, "outcome": {outcome}}}\n')
                writer.stdin.flush()
    except (KeyboardInterrupt, ray.exceptions.RayError, BrokenPipeError) as error:
        print(f"ray_sweep: {error or 'interrupted'}; the same command goes on from here", file=sys.stderr)
        writer.stdin.close()
        writer.wait()
        return 1
    finally:
        ray.shutdown()
    writer.stdin.close()
    return writer.wait()


@ray.remote(num_cpus=1)
def outcome_of(program: str, version: str, scenario: list[str], run: int) -> tuple[int, str]:
    """One run. Its outcome is passed on as text, because numbers that are read and written again may change."""
    here = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    if here != version:
        raise RuntimeError(f"this machine has {here.strip()}, and the sweep was begun with {version.strip()}")
    words = [program, "sim", "run", *scenario, "--run", str(run), "--json"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"run {run}: {done.stderr.strip().splitlines()[-1]}")
    return run, done.stdout


if __name__ == "__main__":
    sys.exit(main())
