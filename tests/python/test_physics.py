"""Operators as users meet them: shapes, norms, inverses, noise, plug-ins."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
import weakref

import pytest
import torch

import iterscope
from iterscope.deepinv import wrap_physics
from iterscope.physics import (
    Denoising,
    LinearPhysics,
    MultiFrameSuperResolution,
    StackedPhysics,
    add_gaussian_noise,
    gaussian_kernels,
)


class Matrix(LinearPhysics):
    """A dense matrix on images, one channel, flattened."""

    def __init__(self, matrix: torch.Tensor, adjoint: torch.Tensor | None = None) -> None:
        super().__init__()
        self.matrix = matrix
        self.transpose = matrix.T if adjoint is None else adjoint

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [x @ self.matrix.T]

    def adjoint(self, y: list[torch.Tensor]) -> torch.Tensor:
        return y[0] @ self.transpose.T


def dense(physics: LinearPhysics, height: int, width: int) -> torch.Tensor:
    identity = torch.eye(height * width, dtype=torch.float64).view(-1, 1, height, width)
    columns = torch.cat([y.flatten(1) for y in physics(identity)], 1)
    return columns.T


def dot_test(physics: LinearPhysics, x: torch.Tensor) -> float:
    ax = physics(x)
    y = [torch.randn_like(part) for part in ax]
    aty = physics.adjoint(y)
    assert aty.shape == x.shape
    assert aty.dtype == x.dtype
    left = sum((a.double() * b).sum() for a, b in zip(ax, y, strict=True))
    size = sum(a.norm() ** 2 for a in ax).sqrt() * sum(b.norm() ** 2 for b in y).sqrt()
    return float((left - (x.double() * aty).sum()).abs() / size)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize("size", [(32, 32), (33, 31), (7, 50)])
@pytest.mark.parametrize("factor", [1, 2, 3, 4])
@pytest.mark.parametrize("kernel_size", [4, 5, 31])
def test_super_resolution_matches_its_adjoint(dtype, tolerance, size, factor, kernel_size):
    torch.manual_seed(0)
    physics = MultiFrameSuperResolution(
        size, num_operators=3, factor=factor, kernel_size=kernel_size, sigma=(1.0, 2.5)
    )
    x = torch.randn(2, 3, *size, dtype=dtype)
    assert dot_test(physics, x) < tolerance
    twice = physics.adjoint(physics(x))
    assert (physics.normal(x) - twice).abs().max() < tolerance * twice.abs().max()


def test_frames_are_a_list_and_a_tensor_is_a_list_of_one():
    physics = MultiFrameSuperResolution(16, num_operators=1)
    x = torch.rand(2, 1, 16, 16)
    (frame,) = physics(x)
    assert frame.shape == (2, 1, 8, 8)
    assert torch.equal(physics.adjoint(frame), physics.adjoint([frame]))
    assert torch.equal(physics.A(x)[0], frame)
    assert torch.equal(physics.A_adjoint((frame,)), physics.adjoint([frame]))
    with pytest.raises(iterscope.ConfigError, match="2 measurements"):
        physics.adjoint([frame, frame])


def test_gaussian_kernels_equal_deepinv():
    blur = pytest.importorskip("deepinv.physics.functional").gaussian_blur
    for sigma in (1.0, (1.0, 2.0)):
        kernels = gaussian_kernels(4, 7, sigma)
        assert torch.allclose(kernels.sum((1, 2)), torch.ones(4, dtype=torch.float64))
        for n, kernel in enumerate(kernels):
            peer = blur((7, 7), sigma=sigma, angle=45.0 * n, dtype=torch.float64)
            assert torch.allclose(kernel, peer.reshape(7, 7), atol=1e-12)


@pytest.mark.parametrize("kernel_size", [5, 15])
def test_a_stack_equals_deepinv(kernel_size):
    dinv = pytest.importorskip("deepinv")
    torch.manual_seed(0)
    physics = MultiFrameSuperResolution(
        64, num_operators=3, kernel_size=kernel_size, sigma=(1.0, 3.0)
    )
    peer = dinv.physics.stack(
        *(
            dinv.physics.Downsampling((1, 64, 64), kernel.float()[None, None], 2)
            for kernel in physics.kernels
        )
    )
    x = torch.rand(1, 1, 64, 64)
    for ours, theirs in zip(physics(x), peer.A(x), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)
    expected = peer.A_adjoint(peer.A(x))
    assert (physics.normal(x) - expected).norm() < 1e-5 * expected.norm()
    wrapped = wrap_physics(peer)
    assert wrapped.measurement_count() == 3
    assert torch.allclose(wrapped.normal(x), expected, atol=1e-6)
    assert wrapped.norm(x) == pytest.approx(physics.norm(), rel=1e-2)


@pytest.mark.parametrize("size", [(16, 12), (15, 12), (11, 9)])
@pytest.mark.parametrize("factor", [1, 2, 3])
@pytest.mark.parametrize("frames", [1, 5])
def test_norm_of_super_resolution_is_the_largest_singular_value(size, factor, frames):
    torch.manual_seed(1)
    kernels = torch.randn(frames, 5, 4, dtype=torch.float64)
    physics = MultiFrameSuperResolution(size, kernels, factor)
    expected = torch.linalg.matrix_norm(dense(physics, *size), 2).item()
    assert physics.norm() == pytest.approx(expected, rel=1e-3)
    assert physics.norm_squared() == pytest.approx(expected**2, rel=2e-3)


def test_norm_is_not_the_squared_norm():
    physics = Matrix(3 * torch.eye(4))
    x = torch.zeros(2, 1, 4)
    assert physics.norm(x) == pytest.approx(3)
    assert physics.norm_squared(x) == pytest.approx(9)
    y = physics(torch.rand(2, 1, 4))
    step = -(1 / 9) * physics.adjoint([-part for part in y])
    assert torch.allclose(physics(step)[0], y[0])


@pytest.mark.parametrize("scale", [1e-25, 1e-5, 1.0, 1e12])
def test_norm_of_tiny_and_huge_operators(scale):
    assert Matrix(scale * torch.eye(6)).norm(torch.zeros(1, 1, 6)) == pytest.approx(scale, rel=1e-6)


def test_norm_needs_no_luck():
    physics = Matrix(torch.diag(torch.tensor([5.0, 1.0, 1.0])))
    state = torch.get_rng_state()
    values = []
    for seed in range(5):
        torch.manual_seed(seed)
        values.append(physics.norm(torch.randn(seed + 1, 1, 3)))
    torch.set_rng_state(state)
    assert values == [values[0]] * 5
    assert values[0] == pytest.approx(5, rel=1e-4)


def test_norm_of_a_zero_operator_is_zero():
    assert Matrix(torch.zeros(3, 3)).norm(torch.ones(1, 1, 3)) == 0
    assert MultiFrameSuperResolution(8, torch.zeros(2, 3, 3)).norm() == 0


def test_norm_draws_no_global_random_numbers():
    state = torch.get_rng_state()
    Matrix(torch.rand(3, 3, generator=torch.Generator().manual_seed(0))).norm(torch.ones(1, 1, 3))
    add_gaussian_noise([torch.zeros(4)], 0.1, 3)
    assert torch.equal(torch.get_rng_state(), state)


def test_norm_without_an_example_is_a_clear_error():
    with pytest.raises(iterscope.ConfigError, match="example image"):
        Matrix(torch.eye(2)).norm()


def test_norm_of_a_stack_is_that_of_the_stacked_matrix():
    first, second = torch.rand(5, 4), torch.rand(3, 4)
    physics = StackedPhysics([Matrix(first), Matrix(second), Denoising()])
    assert physics.measurement_count() == 3
    stacked = torch.cat([first, second, torch.eye(4)])
    x = torch.rand(2, 1, 4)
    assert physics.norm(x) == pytest.approx(torch.linalg.matrix_norm(stacked, 2).item(), rel=1e-4)
    expected = x @ stacked.T @ stacked
    assert torch.allclose(physics.normal(x), expected, atol=1e-5)
    assert torch.allclose(physics.adjoint(physics(x)), expected, atol=1e-5)


def well_posed() -> tuple[Matrix, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    matrix = torch.randn(12, 6, generator=generator, dtype=torch.float64)
    return Matrix(matrix), torch.randn(2, 1, 6, generator=generator, dtype=torch.float64)


def test_pseudo_inverse_solves():
    physics, x = well_posed()
    solution = physics.pseudo_inverse(physics(x), tolerance=1e-12)
    assert torch.allclose(solution, x, atol=1e-9)
    y = [torch.randn(2, 1, 12, dtype=torch.float64)]
    solution = physics.A_dagger(y, tolerance=1e-12)
    assert torch.allclose(solution, y[0] @ torch.linalg.pinv(physics.matrix).T, atol=1e-9)


def test_pseudo_inverse_of_zero_is_zero():
    physics, x = well_posed()
    assert torch.equal(physics.pseudo_inverse(physics(torch.zeros_like(x))), torch.zeros_like(x))


def test_pseudo_inverse_leaves_a_solution_alone():
    physics, x = well_posed()
    assert torch.equal(physics.pseudo_inverse(physics(x), start=x), x)


def test_images_of_a_batch_do_not_interfere():
    physics = MultiFrameSuperResolution(16, num_operators=4)
    x = torch.rand(1, 1, 16, 16)
    y = physics(x)
    alone = physics.pseudo_inverse(y)
    beside_zero = physics.pseudo_inverse([torch.cat([part, 0 * part]) for part in y])
    assert torch.equal(beside_zero[:1], alone)
    assert torch.equal(beside_zero[1:], torch.zeros_like(x))
    with pytest.warns(iterscope.IterscopeWarning, match="NaN"):
        beside_nan = physics.pseudo_inverse([torch.cat([part, part * torch.nan]) for part in y])
    assert torch.equal(beside_nan[:1], alone)
    assert beside_nan[1].isnan().all()


@pytest.mark.parametrize("wrong", ["scaled", "shifted", "negative"])
def test_an_unmatched_adjoint_is_an_error(wrong):
    physics, x = well_posed()
    transpose = physics.matrix.T
    other = {"scaled": 3 * transpose, "shifted": transpose.roll(1, 0), "negative": -transpose}
    with pytest.raises(iterscope.UsageError, match="not the transpose"):
        Matrix(physics.matrix, other[wrong]).pseudo_inverse(physics(x))


def test_half_masks_are_not_assumed_to_be_zero_or_one():
    physics = Matrix(0.5 * torch.eye(4))
    x = torch.rand(1, 1, 4)
    assert torch.equal(physics(x)[0], 0.5 * x)
    assert torch.equal(physics.adjoint([x]), 0.5 * x)
    assert torch.allclose(physics.pseudo_inverse(physics(x)), x)


@pytest.mark.parametrize("shape", [(1, 1, 5, 7), (2, 3, 4, 6, 8), (3, 1, 1)])
def test_denoising_is_the_identity(shape):
    physics = Denoising()
    x = torch.rand(shape)
    assert torch.equal(physics(x)[0], x)
    assert torch.equal(physics.adjoint([x]), x)
    assert torch.equal(physics.pseudo_inverse([x]), x)
    assert physics.norm() == 1


@pytest.mark.parametrize("make", [Denoising, lambda: MultiFrameSuperResolution(4)])
def test_complex_images_are_refused(make):
    physics = make()
    x = torch.ones(1, 1, 4, 4, dtype=torch.complex64)
    for call in (physics.forward, physics.normal, lambda z: physics.adjoint([z])):
        with pytest.raises(TypeError, match="imaginary"):
            call(x)


def test_precision_of_the_input_is_kept():
    physics = MultiFrameSuperResolution(8, num_operators=2)
    for dtype in (torch.float32, torch.float64):
        x = torch.rand(1, 1, 8, 8, dtype=dtype)
        assert {y.dtype for y in physics(x)} == {dtype}
        assert physics.pseudo_inverse(physics(x)).dtype == dtype
    with pytest.raises(TypeError, match="one precision"):
        physics.adjoint([torch.rand(1, 1, 4, 4), torch.rand(1, 1, 4, 4).double()])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"image_size": (0, 4)}, "1 or more"),
        ({"image_size": 8, "factor": 0}, "1 or more"),
        ({"image_size": (1, 2, 3, 4)}, "4 numbers"),
        ({"image_size": 8, "kernels": torch.rand(3)}, "dimensions"),
        ({"image_size": 8, "sigma": 0.0}, "positive"),
        ({"image_size": 8, "num_operators": 0}, "positive"),
        ({"image_size": 8, "kernels": torch.rand(2, 3, 3), "num_operators": 3}, "equal numbers"),
    ],
)
def test_wrong_arguments_are_found_at_construction(arguments, message):
    with pytest.raises(iterscope.ConfigError, match=message):
        MultiFrameSuperResolution(**arguments)


def test_an_image_of_another_size_is_refused():
    with pytest.raises(iterscope.ConfigError, match="8 x 8"):
        MultiFrameSuperResolution(8).forward(torch.rand(1, 1, 8, 9))


def test_gradients_flow_through_super_resolution():
    physics = MultiFrameSuperResolution(8, num_operators=2)
    x = torch.rand(1, 1, 8, 8, requires_grad=True)
    sum((part**2).sum() / 2 for part in physics(x)).backward()
    assert torch.allclose(x.grad, physics.normal(x.detach()), atol=1e-6)


def test_noise_has_its_own_seed():
    y = [torch.zeros(1000), torch.zeros(1000)]
    first = add_gaussian_noise(y, 0.1, 5)
    again = add_gaussian_noise(y, 0.1, 5)
    other = add_gaussian_noise(y, 0.1, 6)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], other[0])
    assert not torch.equal(first[0], first[1])
    assert first[0].std() == pytest.approx(0.1, rel=0.15)
    assert isinstance(add_gaussian_noise(y[0], 0.0), torch.Tensor)
    with pytest.raises(iterscope.ConfigError, match="0 or more"):
        add_gaussian_noise(y, -1.0)


def test_python_overrides_are_used_by_the_rest():
    class Doubling(Matrix):
        def normal(self, x):
            return 7 * x

        def pseudo_inverse(self, y):
            return super().pseudo_inverse(y) + 1

    physics = Doubling(torch.eye(3))
    x = torch.rand(1, 1, 3)
    assert torch.equal(StackedPhysics([physics]).normal(x), 7 * x)
    with pytest.raises(iterscope.UsageError):
        physics.pseudo_inverse([x])  # the override of normal does not belong to A

    class Incomplete(LinearPhysics):
        pass

    with pytest.raises(RuntimeError, match="forward"):
        Incomplete().norm(x)


def test_errors_of_overrides_arrive_unchanged():
    class Broken(Matrix):
        def forward(self, x):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Broken(torch.eye(2)).norm(torch.ones(1, 1, 2))


def test_what_is_not_linear_physics_cannot_be_wrapped():
    with pytest.raises(TypeError, match="A_adjoint"):
        wrap_physics(object())
    physics = Denoising()
    assert wrap_physics(physics) is physics


def test_nothing_warns_on_good_input():
    physics = MultiFrameSuperResolution((12, 10), num_operators=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        physics.pseudo_inverse(physics(torch.rand(1, 1, 12, 10)))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_copies_and_pickles_are_equal(duplicate):
    physics = StackedPhysics([MultiFrameSuperResolution((6, 7), num_operators=2, factor=3)])
    x = torch.rand(1, 1, 6, 7)
    other = duplicate(physics)
    assert all(torch.equal(a, b) for a, b in zip(other(x), physics(x), strict=True))
    assert torch.equal(duplicate(Denoising())(x)[0], x)
    wrapped = duplicate(wrap_physics(OneOperator()))
    assert torch.equal(wrapped(x)[0], 2 * x)


class OneOperator:
    """The methods that DeepInv's operators have."""

    def A(self, x):  # noqa: N802 - its name there
        return 2 * x

    def A_adjoint(self, y):  # noqa: N802
        return 2 * y


def test_a_cycle_through_a_stack_is_collected():
    part = Matrix(torch.eye(2))
    part.stack = StackedPhysics([part, StackedPhysics([part, part])])
    dead = weakref.ref(part)
    del part
    gc.collect()
    assert dead() is None


def test_a_stack_keeps_its_operators():
    part = Matrix(torch.eye(2))
    stack = StackedPhysics([part, part])
    alive = weakref.ref(part)
    assert gc.get_referents(stack) == [StackedPhysics, part, part]
    del part
    gc.collect()
    assert alive() is not None
    assert len(stack(torch.ones(1, 1, 2))) == 2
    del stack
    gc.collect()
    assert alive() is None
