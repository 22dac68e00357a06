"""The runtime with disorder.c, which can reverse the order of a launch's instances."""

from __future__ import annotations

from pathlib import Path

from tests.support.programs import BUILD_SECONDS, COMPILER, ROOT, run_command, tool_environment
from tilepragma.base.wheels import wheel_macros
from tilepragma.cli.runtime_library import runtime_includes, runtime_sources

#: Makes targets run their instances in reverse: the host by this runtime, CUDA by the stand-in.
LAST_FIRST = (("CHECK_DISORDER", "1"), ("TILEK_NUM_THREADS", "4096"), ("CUDA_STANDIN_ORDER", "reverse"))


def disorderly_runtime(folder: Path) -> tuple[str, ...]:
    """Compile the runtime in `folder`; link arguments in place of the library. Raises Failure."""
    folder.mkdir(parents=True, exist_ok=True)
    pool = ROOT / "runtime" / "host" / "thread_pool.c"
    compiler = (COMPILER, "-std=c99", "-O1", "-pthread", *wheel_macros(), *runtime_includes(), "-c")
    sources = [path for path in runtime_sources() if path.name not in (pool.name, "wavefront_queue.c")]
    renamed = ("-Dtilek_parallel=tilek_parallel_of_pool", str(pool))
    for files in (map(str, sources), renamed, (str(Path(__file__).with_name("disorder.c")),)):
        run_command((*compiler, *files), tool_environment(folder), folder, BUILD_SECONDS)
    return (*map(str, sorted(folder.glob("*.o"))), "-ldl", "-lpthread", "-lm")
