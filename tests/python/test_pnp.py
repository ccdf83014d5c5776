"""PnP: its formula, its parameters, and that a profiler changes nothing but what is measured."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
import weakref

import pytest
import torch

import iterscope
from iterscope.deepinv import wrap_denoiser, wrap_physics
from iterscope.denoisers import Denoiser, TVDenoiser
from iterscope.physics import (
    Denoising,
    LinearPhysics,
    MultiFrameSuperResolution,
    add_gaussian_noise,
)
from iterscope.solvers import PnP


class Identity(Denoiser):
    def denoise(self, x, sigma):
        return x


class Half(Denoiser):
    def denoise(self, x, sigma):
        return 0.5 * x


def problem(size=(24, 20), dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    truth = torch.rand(2, 3, *size, generator=generator, dtype=dtype)
    physics = MultiFrameSuperResolution(size, num_operators=4, sigma=(1.0, 2.0))
    return physics, add_gaussian_noise(physics(truth), 0.01, 1), truth


def run(solver, steps=3):
    solver.initialize()
    for _ in range(steps):
        solver.step()
    return solver.reconstruction()


def test_steps_follow_the_formula():
    physics, y, _ = problem(dtype=torch.float64)
    solver = PnP(physics, y, Half(), step_size=0.4, init_method="adjoint")
    x = physics.adjoint(y)
    solver.initialize()
    assert torch.allclose(solver.reconstruction(), x)
    for k in range(3):
        residual = [a - b for a, b in zip(physics(x), y, strict=True)]
        x = (0.5 * (x - 0.4 * physics.adjoint(residual))).clamp(0, 1)
        solver.step()
        assert torch.allclose(solver.reconstruction(), x, atol=1e-12)
        assert solver.iteration == k + 1


def test_relaxation_mixes_with_the_gradient_step():
    y = [torch.full((1, 1, 4, 4), 0.8)]
    solver = PnP(
        Denoising(),
        y,
        Half(),
        step_size=0.5,
        denoiser_lambda_relaxation=2.0,
        init_method="zeros",
    )
    # z = 0.4, alpha = 0.5 * 2 / (1 + 0.5 * 2) = 0.5, D(z) = 0.2
    assert run(solver, 1).unique().item() == pytest.approx(0.3)


def test_clip_and_dynamic_range():
    y = [torch.tensor([[[[-1.0, 3.0]]]])]
    clipped = PnP(Denoising(), y, Identity(), step_size=1.0, init_method="zeros")
    assert run(clipped, 1).flatten().tolist() == [0.0, 1.0]
    wide = PnP(
        Denoising(), y, Identity(), step_size=1.0, init_method="zeros", value_range=(-2.0, 2.0)
    )
    assert run(wide, 1).flatten().tolist() == [-1.0, 2.0]
    seen = []

    class Spy(Denoiser):
        def denoise(self, x, sigma):
            seen.append(x.flatten().tolist())
            return x

    dynamic = {"step_size": 1.0, "init_method": "zeros", "norm_strategy": "dynamic"}
    assert run(PnP(Denoising(), y, Spy(), **dynamic), 1).flatten().tolist() == [-1.0, 3.0]
    run(PnP(Denoising(), y, Spy(), value_range=(-1.0, 7.0), **dynamic), 1)
    assert seen == [[0.0, 1.0], [0.0, 0.5]]


def test_the_default_step_is_the_scaled_inverse_of_the_largest_eigenvalue():
    physics, y, _ = problem()
    solver = PnP(physics, y, Identity())
    with pytest.raises(iterscope.UsageError, match="initialize"):
        _ = solver.step_size
    solver.initialize()
    assert solver.step_size == pytest.approx(0.99 / physics.norm_squared())
    assert PnP(physics, y, Identity(), step_size=0.3).step_size == 0.3


def test_init_methods():
    physics, y, _ = problem()

    def first(method):
        return run(PnP(physics, y, Identity(), init_method=method), 0)

    assert torch.equal(first("zeros"), torch.zeros(2, 3, 24, 20))
    assert torch.equal(first("adjoint"), physics.adjoint(y))
    assert torch.equal(first("pseudo_inverse"), physics.pseudo_inverse(y))


def test_it_reconstructs():
    size = (64, 64)
    truth = torch.zeros(1, 3, *size)
    truth[..., 16:48, 20:40] = 0.8
    physics = MultiFrameSuperResolution(size, num_operators=4)
    y = add_gaussian_noise(physics(truth), 0.02, 0)
    solver = PnP(physics, y, "tv", denoiser_sigma=0.01)

    def error():
        return ((solver.reconstruction() - truth) ** 2).mean().item()

    solver.initialize()
    before = error()
    for _ in range(20):
        solver.step()
    assert error() < 0.4 * before


@pytest.mark.parametrize("shape", [(1, 1, 9, 7), (2, 1, 4, 6, 8)])
def test_denoising_in_two_and_three_dimensions(shape):
    y = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    result = run(PnP(Denoising(), y, "tv"))
    assert result.shape == y.shape
    assert result.isfinite().all()


def test_equals_deepinv_operators_and_tv():
    dinv = pytest.importorskip("deepinv")
    physics, y, _ = problem()
    peer = dinv.physics.stack(
        *(
            dinv.physics.Downsampling((3, 24, 20), kernel.float()[None, None], 2)
            for kernel in physics.kernels
        )
    )
    options = {"step_size": 0.5, "denoiser_sigma": 0.05, "init_method": "adjoint"}
    ours = run(PnP(physics, y, TVDenoiser(n_it_max=15, crit=0.0), **options))
    tv = wrap_denoiser(dinv.models.TVDenoiser(n_it_max=15, crit=0.0))
    theirs = run(PnP(wrap_physics(peer), y, tv, **options))
    assert (ours - theirs).norm() < 1e-5 * theirs.norm()


@pytest.mark.parametrize("mode", [None, "custom"])
def test_a_profiler_changes_no_bit(mode):
    physics, y, _ = problem()
    expected = run(PnP(physics, y, "tv"))
    profiler = iterscope.create_profiler(mode, "cpu")
    solver = PnP(physics, y, "tv", profiler)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    with profiler:
        solver.initialize()
        profiler.start_iterations()
        for _ in range(3):
            solver.step()
            profiler.end_iteration()
            metrics = profiler.get_current_metrics()
            assert (mode is None) == (metrics == {})
            if metrics:
                assert 0 < metrics["gradient_time_sec"] < metrics["total_time_sec"]
                assert 0 < metrics["denoise_time_sec"] < metrics["total_time_sec"]
    assert torch.equal(solver.reconstruction(), expected)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_starting_anew_gives_the_same_bits():
    physics, y, _ = problem()
    solver = PnP(physics, y, "tv")
    assert torch.equal(run(solver), run(solver))


def test_nan_is_flagged_once_and_rows_go_on():
    physics, y, _ = problem()

    class NanAt(Denoiser):
        calls = 0

        def denoise(self, x, sigma):
            self.calls += 1
            return x * torch.nan if self.calls == 3 else x

    profiler = iterscope.create_profiler("custom", "cpu")
    solver = PnP(physics, y, NanAt(), profiler)
    rows = 0
    with profiler, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solver.initialize()
        assert solver.nonfinite_iteration is None
        for _ in range(6):
            solver.step()
            profiler.end_iteration()
            rows += bool(profiler.get_current_metrics())
    assert rows == 6
    assert solver.nonfinite_iteration == 2
    assert [str(w.message) for w in caught if "iteration 2" in str(w.message)] != []
    assert len(caught) == 1
    assert issubclass(caught[0].category, iterscope.IterscopeWarning)


def test_nan_in_the_measurements_is_flagged_at_the_start():
    physics, y, _ = problem()
    y[0][0, 0, 0, 0] = torch.nan
    solver = PnP(physics, y, "tv")
    with pytest.warns(iterscope.IterscopeWarning):
        solver.initialize()
    assert solver.nonfinite_iteration == -1
    solver.step()


def test_infinity_is_seen_although_clipping_hides_it():
    class Overflow(Denoiser):
        def denoise(self, x, sigma):
            return x + torch.inf

    solver = PnP(Denoising(), torch.zeros(1, 1, 4, 4), Overflow())
    with pytest.warns(iterscope.IterscopeWarning, match="iteration 0"):
        solver.step()
    assert solver.nonfinite_iteration == 0


def test_no_gradient_is_recorded_and_results_stay_usable():
    physics, y, _ = problem()
    y = [part.requires_grad_() for part in y]
    result = run(PnP(physics, y, "tv"), 1)
    assert not result.requires_grad
    weight = torch.ones((), requires_grad=True)
    (weight * result).sum().backward()
    assert weight.grad is not None


def test_later_steps_leave_a_reconstruction_alone():
    physics, y, _ = problem()
    solver = PnP(physics, y, "tv")
    first = run(solver, 1)
    kept = first.clone()
    solver.step()
    assert torch.equal(first, kept)
    assert not torch.equal(solver.reconstruction(), kept)


def test_parameters_for_launchers_and_patches_are_accepted():
    physics, y, _ = problem()
    PnP(
        physics,
        y,
        "tv",
        image_size=[24, 20],
        patch_size=[64, 32],
        overlap=8,
        max_batch_size=4,
        device=torch.device("cpu"),
        slurm_nodes=2,
        slurm_ntasks_per_node=4,
        slurm_gres="gpu:4",
        torchrun_nproc_per_node=2,
        name_prefix="x",
    ).initialize()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distribute_physics": True}, "one rank"),
        ({"distribute_denoiser": True}, "one rank"),
        ({"compile": "pre"}, "does not compile"),
        ({"compile": "fused"}, "does not compile"),
        ({"compile": "x"}, "'pre', 'post' or 'fused'"),
        ({"denoiser": "drunet"}, "use 'tv'"),
        ({"init_method": "x"}, "init_method"),
        ({"norm_strategy": "x"}, "norm_strategy"),
        ({"step_size": 0.0}, "above 0"),
        ({"step_size": float("nan")}, "above 0"),
        ({"step_size_scale": -1.0}, "above 0"),
        ({"denoiser_sigma": -1.0}, "0 or more"),
        ({"denoiser_lambda_relaxation": -1.0}, "0 or more"),
        ({"value_range": (1.0, 0.0)}, "below"),
        ({"patch_size": 0}, "1 or more"),
        ({"overlap": -1}, "0 or more"),
        ({"max_batch_size": -1}, "0 or more"),
        ({"image_size": [0, 4]}, "image_size"),
        ({"device": "nowhere"}, "unknown device"),
        ({"device": "xpu:7"}, "no device"),
        ({"measurements": []}, "measurements"),
    ],
)
def test_wrong_parameters_are_refused_at_construction(options, message):
    physics, y, _ = problem()
    arguments = {"physics": physics, "measurements": y, "denoiser": "tv", **options}
    with pytest.raises(iterscope.ConfigError, match=message):
        PnP(**arguments)


def test_wrong_kinds_are_type_errors():
    physics, y, _ = problem()
    with pytest.raises(TypeError, match="wrap_physics"):
        PnP(object(), y, "tv")
    with pytest.raises(TypeError, match="wrap_denoiser"):
        PnP(physics, y, object())
    with pytest.raises(TypeError, match="imaginary"):
        PnP(Denoising(), torch.ones(1, 1, 2, 2, dtype=torch.complex64), "tv")
    with pytest.raises(TypeError, match="one precision"):
        PnP(physics, [y[0].double(), *y[1:]], "tv")
    with pytest.raises(TypeError, match="patch_size"):
        PnP(physics, y, "tv", patch_size="big")


def test_another_image_size_is_refused():
    physics, y, _ = problem()
    with pytest.raises(iterscope.ConfigError, match="image_size"):
        PnP(physics, y, "tv", image_size=[24, 24]).initialize()


def test_a_denoiser_that_changes_the_shape_is_refused():
    class Crop(Denoiser):
        def denoise(self, x, sigma):
            return x[..., :-1]

    solver = PnP(Denoising(), torch.zeros(1, 1, 4, 4), Crop())
    with pytest.raises(iterscope.UsageError, match="denoiser"):
        solver.step()


def test_an_error_of_the_denoiser_closes_its_region():
    class Broken(Denoiser):
        def denoise(self, x, sigma):
            raise KeyError("mine")

    profiler = iterscope.create_profiler("custom", "cpu")
    solver = PnP(Denoising(), torch.zeros(1, 1, 4, 4), Broken(), profiler)
    with profiler:
        solver.initialize()
        with pytest.raises(KeyError, match="mine"):
            solver.step()
        profiler.end_iteration()
        assert "denoise_time_sec" in profiler.get_current_metrics()


def test_operators_of_the_users_own():
    class Mask(LinearPhysics):
        def forward(self, x):
            return x * 0.5

        def adjoint(self, y):
            return y[0] * 0.5

    y = torch.full((1, 1, 4, 4), 0.25)
    solver = PnP(Mask(), y, Identity(), init_method="zeros")
    assert torch.allclose(run(solver, 30), torch.full_like(y, 0.5), atol=1e-3)
    assert solver.step_size == pytest.approx(0.99 / 0.25, rel=1e-3)


def test_a_cycle_through_a_solver_is_collected():
    denoiser = Identity()
    denoiser.solver = PnP(Denoising(), torch.zeros(1, 1, 4, 4), denoiser)
    dead = weakref.ref(denoiser)
    del denoiser
    gc.collect()
    assert dead() is None


def test_a_solver_keeps_what_it_was_given():
    denoiser = Half()
    y = torch.full((1, 1, 4, 4), 0.5)
    solvers = [PnP(Denoising(), y, denoiser, step_size=1.0) for _ in range(2)]
    alive = weakref.ref(denoiser)
    del denoiser
    gc.collect()
    assert alive() is not None
    assert torch.equal(run(solvers.pop(), 1), 0.5 * y)
    gc.collect()
    assert torch.equal(run(solvers.pop(), 1), 0.5 * y)
    gc.collect()
    assert alive() is None


def test_the_collector_sees_user_objects_and_makes_none():
    y = torch.zeros(1, 1, 4, 4)
    physics, denoiser = Denoising(), Identity()
    assert gc.get_referents(PnP(physics, y, denoiser)) == [PnP, physics, denoiser]
    assert gc.get_referents(PnP(physics, y, "tv")) == [PnP, physics]


def test_the_collector_sees_nothing_in_a_solver_half_made():
    seen = []

    class Counted(LinearPhysics):
        def measurement_count(self):
            gc.collect()
            seen.extend(gc.get_referents(o) for o in gc.get_objects() if type(o) is PnP)
            return 1

    gc.collect()
    PnP(Counted(), torch.zeros(1, 1, 4, 4), "tv")
    assert [PnP] in seen


GLOBALS = """
import torch
import iterscope
from iterscope.denoisers import Denoiser
from iterscope.physics import LinearPhysics, StackedPhysics
from iterscope.solvers import PnP

class Double(LinearPhysics):
    def forward(self, x):
        return 2 * x
    def adjoint(self, y):
        return 2 * y[0]

class Identity(Denoiser):
    def denoise(self, x, sigma):
        if fail:
            raise KeyError("mine")
        return x

y = torch.ones(1, 1, 4, 4)
profiler = iterscope.create_profiler("custom", "cpu")
physics = StackedPhysics([Double(), Double()])
denoiser = Identity()
solver = PnP(physics, [y, y], denoiser, profiler)
solvers = [solver, PnP(Double(), y, Identity())]
with profiler:
    solver.initialize()
    region = profiler.region("mine")
    solver.step()
    profiler.end_iteration()
metrics = profiler.get_current_metrics()
"""


def at_exit(program, fail):
    return subprocess.run(
        [sys.executable, "-c", f"fail = {fail}\n{program}"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_program_with_everything_in_globals_ends_in_silence():
    done = at_exit(GLOBALS, fail=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_program_that_an_exception_ends_reports_only_that():
    done = at_exit(GLOBALS, fail=True)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("KeyError: 'mine'\n")
    assert "nanobind" not in done.stderr


def test_a_function_that_holds_a_solver_ends_in_silence():
    program = GLOBALS + "def main(solver):\n    return lambda: solver\nkept = main(solver)\n"
    done = at_exit(program + "raise SystemExit(3)\n", fail=False)
    assert (done.returncode, done.stderr) == (3, "")
