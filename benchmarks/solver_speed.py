"""Speed of PnP's gradient step and of a whole iteration, against the same operators in DeepInv.

Both solve the same problem in the same process and take turns; results must be equal to 1e-5.
"""

from __future__ import annotations

import argparse

import deepinv
import torch

import iterscope.denoisers
import iterscope.physics
import iterscope.solvers
from _common import Ratio, interleaved, print_table, write_json

FRAMES = 8
SIZE = 512
TV_ITERATIONS = 20
TV_WEIGHT = 0.02
STEP = 0.5


class Problem:
    """One image, its frames, and the operator that made them, twice."""

    def __init__(self, kernel_size: int) -> None:
        """Kernels are anisotropic Gaussians whose width grows with their size."""
        width = kernel_size / 5
        self.ours = iterscope.physics.MultiFrameSuperResolution(
            SIZE, num_operators=FRAMES, kernel_size=kernel_size, sigma=(width, 2 * width)
        )
        self.theirs = deepinv.physics.stack(
            *(
                deepinv.physics.Downsampling((3, SIZE, SIZE), kernel.float()[None, None], 2)
                for kernel in self.ours.kernels
            )
        )
        generator = torch.Generator().manual_seed(0)
        truth = torch.rand(1, 3, SIZE, SIZE, generator=generator)
        y = iterscope.physics.add_gaussian_noise(self.ours(truth), 0.01, 1)
        self.y = deepinv.utils.TensorList(y)
        self.x = self.ours.adjoint(y)
        self.pull = STEP * self.x

    def our_gradient(self) -> torch.Tensor:
        """What PnP.step() does in its region "gradient"."""
        return torch.sub(self.x, self.ours.normal(self.x), alpha=STEP).add_(self.pull)

    def their_gradient(self, x: torch.Tensor | None = None) -> torch.Tensor:
        """The same step, frame by frame."""
        x = self.x if x is None else x
        return x - STEP * self.theirs.A_adjoint(self.theirs.A(x) - self.y)

    def our_solver(self) -> iterscope.solvers.PnP:
        """PnP with a fixed number of inner iterations."""
        solver = iterscope.solvers.PnP(
            self.ours,
            list(self.y),
            iterscope.denoisers.TVDenoiser(n_it_max=TV_ITERATIONS, crit=0.0),
            step_size=STEP,
            denoiser_sigma=TV_WEIGHT,
            init_method="adjoint",
            device="cpu",
        )
        solver.initialize()
        return solver


class TheirSolver:
    """The same iteration of DeepInv's parts."""

    def __init__(self, problem: Problem) -> None:
        """Start from the adjoint, as ours does."""
        self.problem = problem
        self.x = problem.x
        self.denoiser = deepinv.models.TVDenoiser(n_it_max=TV_ITERATIONS, crit=0.0)

    def step(self) -> None:
        """Gradient, total variation, clipping."""
        self.x = self.denoiser(self.problem.their_gradient(self.x), TV_WEIGHT).clamp(0, 1)


def require_equal(ours: torch.Tensor, theirs: torch.Tensor, what: str) -> float:
    """Relative difference; a fast wrong result is no result."""
    difference = float((ours - theirs).norm() / theirs.norm())
    if not difference < 1e-5:
        raise SystemExit(
            f"{what}: results differ by {difference:.2g}, relative; they must be equal."
        )
    return difference


def measure(threads: int, repeats: int) -> tuple[list[Ratio], dict[str, float]]:
    """All figures at one number of threads, and how far the results are apart."""
    torch.set_num_threads(threads)
    label = f"{threads} thread{'s' if threads > 1 else ''}"
    ratios, differences = [], {}
    for kernel_size in (5, 15):
        problem = Problem(kernel_size)
        name = f"gradient, {kernel_size} x {kernel_size}, {label}"
        differences[name] = require_equal(problem.our_gradient(), problem.their_gradient(), name)
        times = interleaved(
            {"ours": problem.our_gradient, "theirs": problem.their_gradient}, repeats
        )
        ratios.append(Ratio(name, times["ours"], times["theirs"], "at least", 10))
    problem = Problem(5)
    name = f"iteration, TV of {TV_ITERATIONS}, {label}"
    ours, theirs = problem.our_solver(), TheirSolver(problem)
    for _ in range(3):
        ours.step()
        theirs.step()
    differences[name] = require_equal(ours.reconstruction(), theirs.x, name)
    times = interleaved({"ours": ours.step, "theirs": theirs.step}, repeats)
    ratios.append(Ratio(name, times["ours"], times["theirs"], "at least", 3))
    return ratios, differences


def main() -> int:
    """Run all; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=11, help="samples a figure (default 11)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    ratios: list[Ratio] = []
    differences: dict[str, float] = {}
    with torch.no_grad():
        for threads in arguments.threads:
            more, apart = measure(threads, arguments.repeats)
            ratios += more
            differences |= apart
    print_table(
        f"PnP against DeepInv {deepinv.__version__}, 3 x {SIZE} x {SIZE}, {FRAMES} frames", ratios
    )
    write_json("solver_speed", ratios, {"relative_difference": differences})
    return 0 if all(ratio.is_met for ratio in ratios) else 1


if __name__ == "__main__":
    raise SystemExit(main())
