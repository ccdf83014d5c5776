"""Image quality: a fixed peak, image by image, and the extreme cases."""

import math

import pytest
import torch

from iterscope import ConfigError
from iterscope.image_metrics import image_quality, mean_quality

pytestmark = pytest.mark.filterwarnings("error")


def flat(value, *shape):
    return torch.full(shape or (1, 1, 16, 16), value)


def test_an_image_does_not_depend_on_its_neighbours():
    # Maxima 1.0 and 0.5, constant error 0.1: the peak is 1, so both are 20 dB.
    truth = torch.stack([flat(0.2, 1, 16, 16), flat(0.1, 1, 16, 16)])
    truth[0, 0, 3, 4], truth[1, 0, 3, 4] = 1.0, 0.5
    batched = image_quality(truth + 0.1, truth)
    assert [round(quality.psnr, 4) for quality in batched] == [20.0, 20.0]
    alone = [image_quality(truth[i : i + 1] + 0.1, truth[i : i + 1])[0] for i in range(2)]
    assert batched == alone
    assert [quality.mse for quality in batched] == pytest.approx([0.01, 0.01])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_perfect_image_is_infinitely_good_and_stays_visible(dtype):
    truth = torch.rand(2, 3, 16, 16, generator=torch.Generator().manual_seed(0)).to(dtype)
    other = truth.clone()
    other[1] += 0.1
    perfect, good = image_quality(other, truth)
    assert (perfect.psnr, perfect.mse) == (math.inf, 0.0)
    assert perfect.ssim == pytest.approx(1.0, abs=1e-6)
    assert good.psnr == pytest.approx(20.0, abs=0.1)
    mean = mean_quality([perfect, good])
    assert mean.psnr == math.inf
    assert mean.mse == pytest.approx(good.mse / 2)


def test_complex_errors_count_by_their_modulus():
    truth = torch.zeros(1, 1, 16, 16, dtype=torch.complex64)
    (quality,) = image_quality(truth + 0.1j, truth)
    assert quality.psnr == pytest.approx(20.0, abs=1e-4)
    assert quality.mse == pytest.approx(0.01)
    assert isinstance(quality.ssim, float)


def test_volumes_are_compared_as_a_whole():
    truth = flat(0.5, 1, 2, 12, 13, 14)
    (quality,) = image_quality(truth + 0.01, truth)
    assert quality.psnr == pytest.approx(40.0, abs=1e-3)
    assert quality.ssim == pytest.approx(1.0, abs=1e-3)


def test_nan_gives_nan():
    (quality,) = image_quality(flat(math.nan), flat(0.0))
    assert all(math.isnan(value) for value in (quality.psnr, quality.ssim, quality.mse))


def test_small_images_have_no_ssim():
    (quality,) = image_quality(flat(0.1, 1, 1, 10, 40), flat(0.0, 1, 1, 10, 40))
    assert math.isnan(quality.ssim)
    assert quality.psnr == pytest.approx(20.0, abs=1e-4)


def test_ssim_is_that_of_the_library_with_the_published_window():
    from skimage.metrics import structural_similarity

    random = torch.Generator().manual_seed(1)
    truth = torch.rand(1, 3, 32, 40, generator=random, dtype=torch.float64)
    image = truth + 0.2 * torch.randn(truth.shape, generator=random, dtype=torch.float64)
    expected = structural_similarity(
        truth[0].numpy(),
        image[0].numpy(),
        data_range=1.0,
        channel_axis=0,
        gaussian_weights=True,
        sigma=1.5,
        use_sample_covariance=False,
    )
    (quality,) = image_quality(image, truth)
    assert quality.ssim == pytest.approx(expected, rel=1e-12)
    # A window of another kind would be far off.
    assert (
        abs(
            structural_similarity(
                truth[0].numpy(), image[0].numpy(), data_range=1.0, channel_axis=0
            )
            - expected
        )
        > 1e-3
    )


@pytest.mark.parametrize("shape", [(1, 1, 16, 8), (16, 16), (2, 1, 16, 16)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ConfigError, match="cannot be compared"):
        image_quality(flat(0.0), torch.zeros(shape))
