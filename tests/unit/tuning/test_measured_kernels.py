"""Measurements by kernel and device: of several environments the one of the latest measurement."""

from __future__ import annotations

from tilepragma.tuning.database import Environment, KernelKey, Measurement, Outcome, Trial, measured_kernels


def measurement(name: str, day: int, options: str = "-O2", target: str = "threads", failure: str = "") -> Measurement:
    return Measurement(
        KernelKey("in.c", name, f"digest of {name}"),
        Environment(target, "a device", "", "a machine", 4, "cc 1", options, "", "0.1"),
        Trial("default", "n=1", 0),
        Outcome(() if failure else (0.1,), failure, 0.2, f"2026-01-{day:02}T10:00:00"),
    )


def test_each_kernel_on_each_target_by_name() -> None:
    result = measured_kernels([measurement("b", 1), measurement("a", 2, target="opencl"), measurement("a", 1)])
    assert [(each.kernel.name, each.environment.target) for each in result] == [
        ("a", "opencl"),
        ("a", "threads"),
        ("b", "threads"),
    ]


def test_the_environment_of_the_latest_measurement() -> None:
    old = [measurement("a", 3, "-O3"), measurement("a", 4, "-O3", failure="crashed")]
    (found,) = measured_kernels([measurement("a", 5), *old, measurement("a", 1)])
    assert found.environment.options == "-O2"
    assert (len(found.trials), found.left_out, found.days, found.failures) == (2, 2, ("2026-01-01", "2026-01-05"), 0)
