"""Native operators: exact transposes, gradients, PyTorch's own checks, and DeepInv as the peer."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import iterscope.physics  # noqa: F401 - registers torch.ops.iterscope

ops = torch.ops.iterscope
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
dtypes = st.sampled_from([torch.float32, torch.float64])


def relative(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).abs().max() / b.abs().max().clamp_min(1e-30))


def mismatch(ax: torch.Tensor, y: torch.Tensor, x: torch.Tensor, aty: torch.Tensor) -> float:
    left, right = (ax.double() * y).sum(), (x.double() * aty).sum()
    return float((left - right).abs() / (ax.norm() * y.norm()).clamp_min(1e-30))


@st.composite
def super_resolution(draw):
    """An image, kernels and a factor: odd sizes, kernels larger than the image, strides."""
    dtype = draw(dtypes)
    seed = draw(st.integers(0, 2**31))
    generator = torch.Generator().manual_seed(seed)
    height, width = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    batch, channels = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    kernel = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    kernels = torch.rand(draw(st.integers(1, 4)), *kernel, generator=generator, dtype=dtype)
    if draw(st.booleans()):
        x = torch.randn(batch, channels, height, width, generator=generator, dtype=dtype)
    else:
        x = torch.randn(width, batch, channels, 2 * height, generator=generator, dtype=dtype)
        x = x.permute(1, 2, 3, 0)[:, :, ::2]
    return x, kernels, draw(st.integers(1, 5))


@settings(max_examples=150, deadline=None)
@given(super_resolution())
def test_super_resolution_has_an_exact_transpose(case):
    x, kernels, factor = case
    height, width = x.shape[-2:]
    frames = ops.superres_forward(x, kernels, factor)
    assert frames.shape == (
        len(kernels),
        *x.shape[:2],
        -(-height // factor),
        -(-width // factor),
    )
    y = torch.randn_like(frames)
    back = ops.superres_adjoint(y, kernels, factor, height, width)
    assert back.shape == x.shape
    assert mismatch(frames, y, x, back) < TOLERANCE[x.dtype]
    twice = ops.superres_adjoint(frames, kernels, factor, height, width)
    assert relative(ops.superres_normal(x, kernels, factor), twice) < TOLERANCE[x.dtype]


@settings(max_examples=60, deadline=None)
@given(super_resolution())
def test_super_resolution_is_what_its_formula_says(case):
    """y[m, l] = sum_ij kernel[i, j] x[factor m - i + c, factor l - j + c], circularly."""
    x, kernels, factor = case
    height, width = x.shape[-2:]
    frames = torch.zeros_like(ops.superres_forward(x, kernels, factor))
    rows = torch.arange(0, height, factor)
    columns = torch.arange(0, width, factor)
    _, kh, kw = kernels.shape
    for i in range(kh):
        for j in range(kw):
            r, c = (rows - i + kh // 2) % height, (columns - j + kw // 2) % width
            frames += kernels[:, i, j].view(-1, 1, 1, 1, 1) * x[:, :, r][..., c]
    assert relative(ops.superres_forward(x, kernels, factor), frames) < TOLERANCE[x.dtype]


@pytest.mark.parametrize("size", [(5, 5), (15, 15), (4, 3)])
@pytest.mark.parametrize("factor", [2, 3, 4])
@pytest.mark.parametrize("shape", [(32, 32), (33, 31)])
def test_super_resolution_equals_deepinv(size, factor, shape):
    dinv = pytest.importorskip("deepinv")
    torch.manual_seed(0)
    x, kernel = torch.rand(2, 3, *shape), torch.rand(1, *size)
    peer = dinv.physics.Downsampling(
        img_size=(3, *shape), filter=kernel[None], factor=factor, padding="circular"
    )
    frames = ops.superres_forward(x, kernel, factor)
    assert relative(frames[0], peer.A(x)) < 1e-5
    y = torch.rand_like(frames)
    back = ops.superres_adjoint(y, kernel, factor, *shape)
    assert relative(back, peer.A_adjoint(y[0])) < 1e-5


@st.composite
def volumes(draw):
    dtype = draw(dtypes)
    shape = [draw(st.integers(1, 2)), draw(st.integers(1, 3))]
    shape += [draw(st.integers(1, 20)) for _ in range(draw(st.integers(2, 3)))]
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    x = torch.randn(shape, generator=generator, dtype=dtype)
    return x.transpose(-1, -2).contiguous().transpose(-1, -2) if draw(st.booleans()) else x


@settings(max_examples=100, deadline=None)
@given(volumes())
def test_finite_differences_have_an_exact_transpose(x):
    field = ops.finite_difference(x)
    assert field.shape == (x.ndim - 2, *x.shape)
    u = torch.randn_like(field)
    back = ops.finite_difference_adjoint(u)
    assert mismatch(field, u, x, back) < TOLERANCE[x.dtype]
    for axis in range(x.ndim - 2):
        expected = torch.zeros_like(x)
        n = x.shape[axis + 2]
        ahead = x.narrow(axis + 2, 1, n - 1) - x.narrow(axis + 2, 0, n - 1)
        expected.narrow(axis + 2, 0, n - 1).copy_(ahead)
        assert torch.equal(field[axis], expected)


def samples(requires_grad: bool, dtype: torch.dtype = torch.float64):
    torch.manual_seed(0)

    def leaf(*shape):
        return torch.randn(*shape, dtype=dtype).requires_grad_(requires_grad)

    kernels = torch.rand(2, 3, 4, dtype=dtype)
    threshold = torch.tensor([0.1, 0.2], dtype=dtype)
    return {
        "superres_forward": (leaf(1, 2, 6, 7), kernels, 2),
        "superres_adjoint": (leaf(2, 1, 2, 3, 4), kernels, 2, 6, 7),
        "superres_normal": (leaf(1, 2, 6, 4), kernels, 2),
        "finite_difference": (leaf(1, 2, 4, 3, 5),),
        "finite_difference_adjoint": (leaf(2, 1, 2, 4, 5),),
        "tv_steps": (
            leaf(2, 1, 4, 5),
            leaf(2, 1, 4, 5),
            0.01 * leaf(2, 2, 1, 4, 5).detach(),
            threshold,
            0.05,
            1.9,
            4,
            0.0,
        ),
    }


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", samples(False))
def test_opcheck(name, requires_grad):
    torch.library.opcheck(getattr(ops, name).default, samples(requires_grad)[name])


@pytest.mark.parametrize("name", samples(False))
def test_first_and_second_gradients(name):
    first, *rest = samples(True)[name]

    def call(x):
        result = getattr(ops, name)(x, *rest)
        return result[0] if name == "tv_steps" else result

    rest = [r.detach() if isinstance(r, torch.Tensor) else r for r in rest]
    assert torch.autograd.gradcheck(call, first)
    assert torch.autograd.gradgradcheck(call, first)


def test_operators_compile_and_export():
    kernels = torch.rand(2, 3, 3)

    class Gradient(torch.nn.Module):
        def forward(self, x):
            return x - 0.5 * ops.superres_normal(x, kernels, 2)

    x = torch.rand(1, 3, 8, 8)
    expected = Gradient()(x)
    compiled = torch.compile(Gradient(), backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x), expected)
    exported = torch.export.export(Gradient(), (x,))
    assert torch.equal(exported.module()(x), expected)


def test_meta_tensors_have_the_right_shapes():
    kernels = torch.rand(3, 5, 5, device="meta")
    frames = ops.superres_forward(torch.rand(1, 2, 9, 8, device="meta"), kernels, 2)
    assert frames.shape == (3, 1, 2, 5, 4)
    assert ops.superres_adjoint(frames, kernels, 2, 9, 8).shape == (1, 2, 9, 8)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_number_of_threads_gives_the_same_bits(threads):
    torch.manual_seed(0)
    x, kernels = torch.rand(1, 3, 200, 120), torch.rand(4, 5, 5)
    u = torch.zeros(2, *x.shape)

    def results():
        normal = ops.superres_normal(x, kernels, 2)
        return normal, *ops.tv_steps(x, x, u, torch.tensor([0.1]), 0.01, 1.99, 40, 1e-4)

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        expected = results()
        torch.set_num_threads(threads)
        assert all(torch.equal(a, b) for a, b in zip(results(), expected, strict=True))
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.float16, torch.int64])
def test_other_dtypes_are_refused(dtype):
    kernels = torch.rand(1, 3, 3)
    x = torch.ones(1, 1, 4, 4, dtype=dtype)
    with pytest.raises(TypeError, match="computes in float32|imaginary part"):
        ops.superres_forward(x, kernels, 2)
    with pytest.raises(TypeError, match="computes in float32|imaginary part"):
        ops.finite_difference(x)


def test_mixed_precision_and_wrong_shapes_are_refused():
    kernels = torch.rand(1, 3, 3)
    with pytest.raises(TypeError, match="Double.*Float"):
        ops.superres_forward(torch.rand(1, 1, 4, 4, dtype=torch.float64), kernels, 2)
    with pytest.raises(ValueError, match="do not belong to an image"):
        ops.superres_adjoint(torch.rand(1, 1, 1, 2, 2), kernels, 2, 6, 4)
    with pytest.raises(ValueError, match="factor"):
        ops.superres_forward(torch.rand(1, 1, 4, 4), kernels, 0)
    with pytest.raises(NotImplementedError, match="detach"):
        ops.superres_forward(torch.rand(1, 1, 4, 4), kernels.requires_grad_(), 2)
