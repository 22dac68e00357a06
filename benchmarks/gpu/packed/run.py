"""Times the generated CUDA code in this folder. Needs Python, a C compiler, a CUDA driver and
NVRTC; nothing is installed. Where CUDA's toolkit has `ncu`, kernels are also compared with CUDA by
hand and with that of peers, whose code `nvcc` compiles (comparison.py).

Each kernel first runs at a small size beside its original, which has to leave the same (within
1e-4: multiply-adds are contracted). Then it runs --runs times in one process, and the first time,
in which it is compiled, does not count. Times are those of launches, by the runtime's own profile
(TILEK_PROFILE), data being on the device; those of many small launches are of whole runs, with
CUDA's graphs and without (TILEK_GRAPHS), and those of wavefronts with one launch for all of them
and with one each (TILEK_PERSISTENT), in alternation, from the run after the one that was recorded.
Shares are of a copy by the driver within the device's memory, and of cublasSgemm where libcublas is
found. Exit status 1 where a kernel fails or leaves something else.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import sys
from dataclasses import asdict
from pathlib import Path

from comparison import COLUMNS, Comparison, find_ncu, row_text
from toolchain import HERE, build, build_runtime, libraries, tool

TOLERANCE = "1e-4"
#: Of runs that are alike the first is launched, the second recorded, and the third plays the
#: recording.
RECORDED = 3
#: Figures that compare whole runs with a setting and without it.
SETTINGS = {"graphs": "TILEK_GRAPHS", "persistent": "TILEK_PERSISTENT"}


def launch_seconds(trace: Path, runs: int) -> list[float]:
    """Seconds of the launches of each run but the first: all runs launch the same."""
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["cat"] == "kernel"]
    events.sort(key=lambda event: event["ts"])
    each = len(events) // runs
    if each == 0 or len(events) != each * runs:
        raise RuntimeError(f"{len(events)} launches in {runs} runs")
    return [1e-6 * sum(event["dur"] for event in events[run * each : (run + 1) * each]) for run in range(1, runs)]


def compared_seconds(command: list[str], variables: dict[str, str], setting: str) -> tuple[list[float], list[float]]:
    """Seconds of whole runs, copies included, with the setting and without, of those that play what
    was recorded. Raises RuntimeError where one leaves something else than another.
    """
    seconds: dict[str, list[float]] = {"1": [], "0": []}
    left = set()
    for _ in range(2):
        for value, found in seconds.items():
            lines = [line.split() for line in tool(command, **variables, **{setting: value}).splitlines()]
            left |= {" ".join(hashes) for _, _, *hashes in lines}
            found += [float(line[1]) for line in lines[RECORDED - 1 :]]
    if len(left) != 1:
        raise RuntimeError(f"runs with {setting}=1 and {setting}=0 leave different results")
    return seconds["1"], seconds["0"]


def measure(case: dict, compiler: list[str], variables: dict[str, str], runs: int, tiny: bool) -> dict:
    """One case's results. Raises RuntimeError where it fails."""
    settings = f"type={case['type']},seed=1,time=1"
    checked = build(compiler, f"check/{case['name']}", case["check_options"], f"check/{case['name']}.c", "support.o")
    verified = {"TILEK_VERIFY": "1", "TILEK_TOLERANCE": TOLERANCE}
    tool([checked, "-", *[settings] * RECORDED], **variables, **verified)
    kind = "check" if tiny else "full"
    program = (
        checked
        if tiny
        else build(compiler, f"full/{case['name']}", case["full_options"], f"full/{case['name']}.c", "support.o")
    )
    more = {}
    if case["figure"] in SETTINGS:
        command = [program, "-", *[settings] * (RECORDED - 1 + runs)]
        seconds, without = compared_seconds(command, variables, SETTINGS[case["figure"]])
        more = {"without": without}
    else:
        trace = HERE / "trace.json"
        tool([program, "-", *[settings] * runs], **variables, TILEK_PROFILE=str(trace))
        seconds = launch_seconds(trace, runs)
        trace.unlink()
    median = statistics.median(seconds)
    moved, flops = case[f"{kind}_moved"], case[f"{kind}_flops"]
    return {"seconds": seconds, "median": median, "gbs": 1e-9 * moved / median, "gflops": 1e-9 * flops / median, **more}


def figures(cases: list[dict], results: dict[str, dict], limits: dict, tiny: bool) -> dict[str, dict]:
    """By goal, the value reached and a note."""
    outcome: dict[str, dict] = {}
    for case in cases:
        result = results[case["name"]]
        if "median" not in result:
            outcome[case["figure"]] = {"value": None, "note": f"{case['name']} failed: {result['failed']}"}
            continue
        copied = case["check_moved" if tiny else "full_moved"] / limits["copy"]
        share = copied / result["median"]
        if case["figure"] in SETTINGS:
            value = result["median"] / statistics.median(result["without"])
            entry = {"value": value, "note": f"{case['name']}, of the time without: {1e6 * result['median']:.0f} us"}
        elif case["figure"] == "sgemm":
            absent = limits["sgemm"] is None
            note = f"{result['gflops']:.0f} GFLOP/s; " + (
                "libcublas is absent" if absent else f"cublasSgemm {1e-9 * limits['sgemm']:.0f}"
            )
            entry = {"value": None if absent else 1e9 * result["gflops"] / limits["sgemm"], "note": note}
        else:
            value = 1.0 / share if case["figure"] == "reversal" else share
            entry = {"value": value, "note": f"{case['name']}, {result['gbs']:.0f} of {1e-9 * limits['copy']:.0f} GB/s"}
        before = outcome.get(case["figure"])
        worse = max if case["figure"] in ("reversal", *SETTINGS) else min
        if before is not None and (
            before["value"] is None or worse(before["value"], entry["value"]) == before["value"]
        ):
            continue
        outcome[case["figure"]] = entry
    return outcome


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", type=Path, metavar="FILE", help="write the results there, for the suite's --gpu")
    options.add_argument("--runs", type=int, default=6, metavar="N", help="runs of each kernel, the first not counted")
    options.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these kernels")
    options.add_argument("--tiny", action="store_true", help="small sizes, to try whether everything runs")
    options.add_argument("--cc", default=os.environ.get("CC", "cc"), metavar="COMMAND", help="the C compiler")
    given = options.parse_args()
    if given.runs < 2:
        options.error("--runs must be 2 at least: the first run is not counted")
    whole = json.loads((HERE / "cases.json").read_text())
    cases = [case for case in whole["cases"] if not given.only or case["program"] in given.only]
    compared = [case for case in whole["comparison"]["cases"] if not given.only or case["kernel"] in given.only]
    if not cases and not compared:
        options.error(f"no kernel is called {' or '.join(given.only)}")
    compiler = shlex.split(given.cc)
    variables = {"TILEK_TARGET": "cuda", "TILEK_STRICT": "1", "NVIDIA_TF32_OVERRIDE": "0", **libraries()}
    variables.setdefault("TILEK_CACHE_DIR", os.environ.get("TILEK_CACHE_DIR", str(HERE / "cache")))
    try:
        build_runtime(compiler)
        build(compiler, "limits", [], "limits.c")
        bounds = whole["check_limits" if given.tiny else "limits"]
        limits = json.loads(tool(["./limits", *map(str, bounds)], **variables))
    except RuntimeError as error:
        print(error)
        return 2
    product = "libcublas is absent" if limits["sgemm"] is None else f"cublasSgemm {1e-9 * limits['sgemm']:.0f} GFLOP/s"
    print(f"{limits['device']}: a copy moves {1e-9 * limits['copy']:.1f} GB/s, {product}")
    results: dict[str, dict] = {}
    for case in cases:
        try:
            result = measure(case, compiler, variables, given.runs, given.tiny)
            spread = f"{min(result['seconds']):.6f} to {max(result['seconds']):.6f}"
            said = f"{result['median']:.6f} s ({spread}) {result['gbs']:10.1f} GB/s {result['gflops']:10.1f} GFLOP/s"
        except RuntimeError as error:
            result = {"failed": str(error)}
            said = f"failed: {error}"
        results[case["name"]] = result
        print(f"{case['name']:26} {said}", flush=True)
    reached = figures(cases, results, limits, given.tiny)
    for name, figure in reached.items():
        # The least of some kernels says nothing of all of them.
        figure["whole"] = sum(case["figure"] == name for case in cases) == whole["figures"][name]
        print(f"{name:26} {'' if figure['value'] is None else format(figure['value'], '.3f'):>8}  {figure['note']}")
    comparison, ncu = [], find_ncu()
    failed = any("failed" in result for result in results.values())
    if compared and ncu is None:
        print("ncu of CUDA's toolkit is not found: kernels are not compared with others")
    elif compared:
        print(f"\n{row_text(COLUMNS)}")
        try:
            kernels = Comparison(compiler, ncu, variables, given.runs, given.only, tiny=given.tiny)
            comparison = kernels.run(lambda row: print(row, flush=True))
            failed = failed or any(map(kernels.is_fault, comparison))
        except RuntimeError as error:
            print(error)
            return 2
    if given.json is not None:
        written = {
            "machine": limits,
            "comparable": not given.tiny,
            "figures": reached,
            "results": results,
            "comparison": [asdict(result) for result in comparison],
        }
        given.json.write_text(json.dumps(written, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
