"""``python -m bench NAME [--quick] [--check] [--json FILE]``; accuracy also takes ``--scenes N --folder FOLDER``, ask
``--decoder vllm``, gpu ``--out FILE``"""

import argparse
import asyncio
import importlib
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path

from bench.report import Figure, Verdict, judge, missing, read_targets, table, verdict
from bench.rig import PartMissing

BENCHES = ("glass", "ask", "camera", "window", "accuracy", "int8")
BY_NAME = ("split", "shapes", "gpu")
"""Not part of ``all``: they take vLLM, gigabytes of memory and disk, or a GPU."""


def _machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{model}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"


def main() -> int:
    """Run the benches named and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=[*BENCHES, *BY_NAME, "all"])
    parser.add_argument(
        "--quick",
        action="store_true",
        help="end within 60 s once the real parts are up, accuracy and int8 within two minutes",
    )
    parser.add_argument(
        "--check", action="store_true", help="exit 1 when a target is missed, 2 when a part is absent"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE")
    parser.add_argument("--scenes", type=int, metavar="N", help="accuracy: ask about so many scenes")
    parser.add_argument("--folder", type=Path, help="accuracy: another checkpoint than the built-in model")
    parser.add_argument(
        "--decoder", choices=["vllm"], help="ask: frames by pixels, inline and by ids, in vLLM"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="gpu: write the page to FILE")
    args = parser.parse_args()

    names: tuple[str, ...] = BENCHES if args.name == "all" else (args.name,)
    if args.decoder:
        names = tuple("ask_vllm" if name == "ask" else name for name in names)
    figures: list[Figure] = []
    absent: list[str] = []
    machine = _machine()
    for name in names:
        bench = importlib.import_module(f"bench.{name}")
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        try:
            own = {
                "accuracy": {"scenes": args.scenes, "folder": args.folder},
                "gpu": {"out": args.out, "machine": machine},
            }.get(name, {})
            figures.extend(asyncio.run(bench.measure(quick=args.quick, **own)))
        except PartMissing as error:
            absent.append(f"{name} ({error})")
    targets = read_targets()
    rows = judge(figures, targets, machine=machine)
    absent.extend(
        name
        for name in missing(rows, targets, names)
        if not any(a.startswith(name.partition(".")[0] + " ") for a in absent)
    )
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    code, sentence = verdict(rows, absent)
    print(f"{machine}\n\n{table(rows)}\n\n{sentence}")
    return int(code) if args.check or code is Verdict.ABSENT else 0


if __name__ == "__main__":
    sys.exit(main())
