"""Rodinia's programs in C and NPB's, as data: what is compiled, run and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from benchmarks.real.inputs import (
    Maker,
    counted_integers,
    hurricanes,
    image,
    lines_of_numbers,
    points,
    video,
)

#: Stands for the number of threads in a program's command.
THREADS = "{threads}"
#: Lines of what a program prints that are no result: times, and how many threads there are.
_NO_TIMES = r"^(?!.*(?i:time|second|took|thread| s,| s$))"


@dataclass(frozen=True)
class Edit:
    """A change to a file of the copy that makes a result the same in each run, or prints it. `text`
    goes before the first `place`, or instead of every `place`.
    """

    file: str
    place: str
    text: str
    instead: bool = False

    def applied(self, text: str) -> str:
        if self.instead:
            return text.replace(self.place, self.text)
        return text.replace(self.place, self.text + self.place, 1)


@dataclass(frozen=True)
class Program:
    """A program of a suite. It is compiled and run in `folder` of a copy of the suite's folder
    `copied` (empty: `folder`). `inputs` are files to make there, `prepare` commands to run before
    it is compiled. What it prints and writes to `outputs` is its result, in the lines that
    `compared` matches: numbers are equal up to `tolerance`, relative to the largest beside them;
    `needed` must match in it.
    `seconds` has a group for each time that the program prints (empty: none).
    """

    name: str
    folder: str
    sources: tuple[str, ...]
    command: tuple[str, ...] = ()
    copied: str = ""
    options: tuple[str, ...] = ()
    inputs: Mapping[str, Maker] = field(default_factory=dict)
    prepare: tuple[tuple[str, ...], ...] = ()
    edits: tuple[Edit, ...] = ()
    outputs: tuple[str, ...] = ()
    compared: str = _NO_TIMES
    needed: str = ""
    tolerance: float = 1e-5
    seconds: str = ""


#: Rodinia's programs in C, below openmp/. The others are C++.
RODINIA = (
    Program(
        "backprop",
        "openmp/backprop",
        ("backprop.c", "facetrain.c", "imagenet.c", "backprop_kernel.c"),
        ("262144",),
        edits=(
            Edit(
                "facetrain.c",
                "bpnn_free(net);",
                "for (i = 0; i <= layer_size; i += 97)\n"
                '  printf("%g %g %g\\n", net->input_weights[i][0], net->input_weights[i][7], net->input_weights[i][16]);\n',
            ),
        ),
    ),
    Program(
        "b+tree",
        "openmp/b+tree",
        ("main.c", "kernel/kernel_cpu.c", "kernel/kernel_cpu_2.c", "util/timer/timer.c", "util/num/num.c"),
        ("core", THREADS, "file", "keys.txt", "command", "command.txt"),
        inputs={"keys.txt": counted_integers(300_000), "command.txt": lambda: b"j 60000 1000\nk 60000\n"},
        outputs=("output.txt",),
        seconds=r"Total time:\n([\d.]+) s",
    ),
    Program(
        "heartwall",
        "openmp/heartwall",
        ("main.c", "AVI/avilib.c", "AVI/avimod.c"),
        ("test.avi", "4", THREADS),
        options=("-DOUTPUT", "-IAVI"),
        inputs={"test.avi": video(656, 744, 4)},
        outputs=("result.txt",),
    ),
    Program(
        "hotspot3D",
        "openmp/hotspot3D",
        ("3D.c",),
        ("256", "8", "200", "power.txt", "temperature.txt", "output.txt"),
        inputs={
            "power.txt": lines_of_numbers(256 * 256 * 8, 0.0, 1.0),
            "temperature.txt": lines_of_numbers(256 * 256 * 8, 320.0, 340.0),
        },
        outputs=("output.txt",),
        compared=r"^(?!Time|Accuracy|\d+ threads)",
        seconds=r"Time: ([\d.]+)",
    ),
    Program(
        "kmeans",
        "openmp/kmeans/kmeans_openmp",
        ("cluster.c", "getopt.c", "kmeans.c", "kmeans_clustering.c"),
        ("-n", THREADS, "-i", "points.txt"),
        inputs={"points.txt": points(100_000, 34)},
        edits=(
            Edit(
                "kmeans.c",
                'printf("Time for process',
                "for (i = 0; i < nclusters; i++)\n"
                '  for (j = 0; j < numAttributes; j++) printf("%g\\n", cluster_centres[i][j]);\n',
            ),
        ),
        seconds=r"Time for process: ([\d.]+)",
    ),
    Program(
        "lavaMD",
        "openmp/lavaMD",
        ("main.c", "kernel/kernel_cpu.c", "util/num/num.c", "util/timer/timer.c"),
        ("-cores", THREADS, "-boxes1d", "8"),
        options=("-DOUTPUT",),
        edits=(Edit("main.c", "time(NULL)", "7", instead=True),),
        outputs=("result.txt",),
        tolerance=1e-6,
        seconds=r"Total time:\n([\d.]+) s",
    ),
    Program(
        "leukocyte",
        "openmp/leukocyte/OpenMP",
        ("detect_main.c", "avilib.c", "find_ellipse.c", "track_ellipse.c", "misc_math.c", "../meschach_lib/meschach.a"),
        ("3", THREADS, "test.avi"),
        copied="openmp/leukocyte",
        options=("-DOUTPUT", "-I../meschach_lib", "-no-pie"),
        inputs={"test.avi": video(640, 480, 4)},
        outputs=("result.txt",),
        seconds=r"Total: ([\d.]+) seconds",
    ),
    Program(
        "lud",
        "openmp/lud/omp",
        ("lud.c", "lud_omp.c", "../common/common.c"),
        ("-n", THREADS, "-s", "2048"),
        copied="openmp/lud",
        options=("-I../common",),
        edits=(
            Edit(
                "lud.c",
                "free(m);",
                'for (opt = 0; opt < matrix_dim * matrix_dim; opt += 37) printf("%g\\n", m[opt]);\n',
            ),
        ),
        tolerance=1e-3,
        seconds=r"Time consumed\(ms\): ([\d.]+)",
    ),
    Program(
        "myocyte",
        "openmp/myocyte",
        ("main.c",),
        ("50", "64", "1", THREADS),
        inputs={
            "../../data/myocyte/y.txt": lines_of_numbers(91, 0.1, 0.9),
            "../../data/myocyte/params.txt": lines_of_numbers(16, 0.1, 0.9),
        },
        edits=(
            Edit(
                "main.c",
                "time4 = get_time();",
                'for (i = 0; i < workload; i++)\n  for (j = 0; j < EQUATIONS; j++) printf("%g\\n", y[i][xmax][j]);\n',
            ),
        ),
    ),
    Program(
        "nn",
        "openmp/nn",
        ("nn_openmp.c",),
        ("filelist_4", "5", "30", "90"),
        inputs={f"../../data/nn/cane4_{k}.db": hurricanes(10_690) for k in range(4)},
    ),
    Program(
        "particlefilter",
        "openmp/particlefilter",
        ("ex_particle_OPENMP_seq.c",),
        ("-x", "128", "-y", "128", "-z", "10", "-np", "20000"),
        edits=(Edit("ex_particle_OPENMP_seq.c", "time(0)", "7", instead=True),),
        seconds=r"PARTICLE FILTER TOOK ([\d.]+)",
    ),
    Program(
        "srad_v1",
        "openmp/srad/srad_v1",
        ("main.c",),
        ("100", "0.5", "502", "458", THREADS),
        inputs={"../../../data/srad/image.pgm": image(502, 458)},
        outputs=("image_out.pgm",),
        seconds=r"([\d.]+) s, .* : COMPUTE",
    ),
)

CLASSES = ("S", "W", "A")
_COMMON = ("../common/c_print_results.c", "../common/c_timers.c", "../common/wtime.c")


def npb(classes: tuple[str, ...]) -> Iterator[Program]:
    """NPB's programs at these classes."""
    for name in ("cg", "ep", "ft", "is", "lu", "mg", "sp", "bt"):
        for class_ in classes:
            yield Program(
                f"{name.upper()}.{class_}",
                name.upper(),
                (f"{name}.c", *_COMMON, *(() if name == "is" else ("../common/c_randdp.c",))),
                copied=".",
                options=("-I../common",),
                prepare=(
                    ("cp", "../config/make.def.template", "../config/make.def"),
                    ("cc", "-w", "-o", "../sys/setparams", "../sys/setparams.c"),
                    ("../sys/setparams", name, class_),
                ),
                compared=r"Verification +=|Size +=|Iterations +=",
                needed=r"\bSUCCESSFUL",
                seconds=r"Time in seconds = +([\d.]+)",
            )
