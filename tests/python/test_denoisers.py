"""Total variation: exact small numbers, and DeepInv's TVDenoiser as the peer."""

from __future__ import annotations

import copy

import pytest
import torch

import iterscope
from iterscope.deepinv import wrap_denoiser
from iterscope.denoisers import Denoiser, TVDenoiser, make_denoiser, total_variation

SHAPES = [
    (1, 1, 8, 8),
    (2, 3, 33, 21),
    (1, 1, 1, 9),
    (1, 1, 9, 1),
    (1, 2, 4, 6, 8),
    (2, 1, 5, 1, 7),
]


def deepinv_tv(**options):
    return pytest.importorskip("deepinv").models.TVDenoiser(**options)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize("shape", SHAPES)
def test_equal_iterations_equal_deepinv(shape, dtype, tolerance):
    torch.manual_seed(0)
    x = torch.rand(shape, dtype=dtype)
    peer, ours = deepinv_tv(n_it_max=25, crit=0.0), TVDenoiser(n_it_max=25, crit=0.0)
    # The second and third calls begin where the one before ended.
    for sigma in (0.1, 0.3, 0.02):
        expected = peer(x, sigma)
        assert (ours(x, sigma) - expected).norm() < tolerance * expected.norm()
        x = x.flip(-1)


def test_stops_where_deepinv_stops():
    torch.manual_seed(0)
    x = torch.rand(1, 3, 40, 50, dtype=torch.float64)
    ours = TVDenoiser(crit=1e-4)
    assert torch.allclose(ours(x, 0.1), deepinv_tv(crit=1e-4)(x, 0.1), atol=1e-12)
    assert 3 < ours.iterations.item() < 1000


def test_images_of_a_batch_stop_for_themselves():
    torch.manual_seed(0)
    easy, hard = torch.full((1, 1, 20, 20), 0.5), torch.rand(1, 1, 20, 20)
    both = TVDenoiser(crit=1e-4)
    result = both(torch.cat([easy, hard]), 0.1)
    alone = TVDenoiser(crit=1e-4)
    assert torch.equal(result[1:], alone(hard, 0.1))
    assert both.iterations.tolist() == [3, alone.iterations.item()]


def test_the_solution_minimises_the_objective():
    torch.manual_seed(0)
    x = torch.rand(1, 1, 12, 10, dtype=torch.float64)
    sigma = 0.1
    solution = TVDenoiser(n_it_max=20000, crit=0.0)(x, sigma)

    def objective(z):
        return 0.5 * ((z - x) ** 2).sum() + sigma * total_variation(z).sum()

    least = objective(solution)
    for _ in range(50):
        assert objective(solution + 1e-3 * torch.randn_like(x)) > least


def test_total_variation_of_a_step_in_depth():
    x = torch.zeros(1, 1, 8, 8, 8)
    x[:, :, 4:] = 1
    assert total_variation(x).tolist() == [64.0]
    assert total_variation(torch.ones(2, 3, 8, 8, 8)).tolist() == [0.0, 0.0]
    assert total_variation(x[:, :, :, 0]).tolist() == [8.0]
    assert TVDenoiser(n_it_max=5)(torch.ones(1, 1, 8, 8, 8), 0.1).unique().tolist() == [1.0]


def test_axes_keep_their_order():
    x = torch.zeros(1, 1, 4, 6, 8)
    x[0, 0, 1, 2, 3] = 1
    result = TVDenoiser(n_it_max=20)(x, 0.05)
    assert result.shape == x.shape
    assert result.argmax() == x.argmax()


def test_sigma_zero_changes_nothing():
    x = torch.rand(1, 1, 10, 10, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(TVDenoiser(n_it_max=2000)(x, 0.0), x, atol=1e-5)


def test_reset_makes_the_next_call_a_first_one():
    x = torch.rand(1, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    denoiser = TVDenoiser(n_it_max=10)
    first = denoiser(x, 0.1)
    assert not torch.equal(denoiser(x, 0.1), first)
    denoiser.reset()
    assert torch.equal(denoiser(x, 0.1), first)
    cold = TVDenoiser(n_it_max=10, warm_start=False)
    assert torch.equal(cold(x, 0.1), first)
    assert torch.equal(cold(x, 0.1), first)


def test_one_bad_image_does_not_spoil_the_next_call():
    x = torch.rand(1, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    denoiser = TVDenoiser(n_it_max=10)
    assert denoiser(x * torch.nan, 0.1).isnan().any()
    assert torch.equal(denoiser(x, 0.1), TVDenoiser(n_it_max=10)(x, 0.1))


def test_the_input_is_left_alone():
    x = torch.rand(1, 3, 8, 8)
    before = x.clone()
    strided = torch.rand(8, 8, 3, 1).permute(3, 2, 0, 1)
    TVDenoiser(n_it_max=5)(x, 0.1)
    assert torch.equal(x, before)
    contiguous = TVDenoiser(n_it_max=5)(strided.contiguous(), 0.1)
    assert torch.equal(TVDenoiser(n_it_max=5)(strided, 0.1), contiguous)


def test_gradients_flow_through_total_variation():
    x = torch.rand(1, 1, 5, 4, dtype=torch.float64, requires_grad=True)
    denoiser = TVDenoiser(n_it_max=6, crit=0.0, warm_start=False)
    assert torch.autograd.gradcheck(lambda z: denoiser(z, 0.05), x)


@pytest.mark.parametrize(
    "options",
    [{"n_it_max": -1}, {"crit": -1.0}, {"crit": float("nan")}, {"tau": 0.0}, {"rho": 2.0}],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(iterscope.ConfigError):
        TVDenoiser(**options)


def test_wrong_input_is_refused():
    denoiser = TVDenoiser()
    with pytest.raises(TypeError, match="imaginary"):
        denoiser(torch.ones(1, 1, 4, 4, dtype=torch.complex64), 0.1)
    with pytest.raises(ValueError, match="volumes"):
        denoiser(torch.ones(4, 4), 0.1)
    with pytest.raises(iterscope.ConfigError, match="0 or more"):
        denoiser(torch.ones(1, 1, 4, 4), -0.1)


def test_names_of_denoisers():
    assert isinstance(make_denoiser("tv"), TVDenoiser)
    with pytest.raises(iterscope.ConfigError, match="use 'tv'"):
        make_denoiser("drunet")
    with pytest.raises(iterscope.ConfigError, match="unknown denoiser"):
        make_denoiser("x")


def test_denoisers_in_python():
    class Shift(Denoiser):
        def denoise(self, x, sigma):
            return x + sigma

    assert torch.equal(Shift()(torch.zeros(2), 0.5), torch.full((2,), 0.5))
    wrapped = wrap_denoiser(lambda x, sigma: x * sigma)
    assert torch.equal(wrapped(torch.ones(2), 0.5), torch.full((2,), 0.5))
    assert wrap_denoiser(wrapped) is wrapped
    with pytest.raises(TypeError, match="called"):
        wrap_denoiser(3)


def test_resetting_a_wrapped_tv_denoiser_of_deepinv():
    x = torch.rand(1, 1, 8, 8)
    wrapped = wrap_denoiser(deepinv_tv(n_it_max=5))
    first = wrapped(x, 0.1)
    wrapped.reset()
    assert torch.equal(wrapped(x, 0.1), first)


def test_copies_have_the_options_and_no_memory():
    x = torch.rand(1, 1, 8, 8)
    denoiser = TVDenoiser(n_it_max=7, crit=0.0, tau=0.02, rho=1.5)
    first = denoiser(x, 0.1)
    assert torch.equal(copy.deepcopy(denoiser)(x, 0.1), first)
