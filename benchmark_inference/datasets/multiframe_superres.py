from benchopt import BaseDataset

from iterscope.benchopt import Described
from iterscope.physics import MultiFrameSuperResolution, add_gaussian_noise
from iterscope.pictures import load_picture


class Dataset(Described, BaseDataset):
    """A photograph seen through several blurred, down-sampled and noisy frames."""

    name = "multiframe_superres"
    requirements = ["pip::torch", "pip::scikit-image"]

    # picture: a photograph that scikit-image ships (iterscope.pictures.PHOTOGRAPHS), or a path.
    # image_size: side of the truth, a pair [[height, width]], or null for the picture's own size.
    # num_operators: number of frames.
    # sigma: of the Gaussian blur, in pixels; a pair [[along rows, along columns]] of two different
    #   ones turns by 180 / num_operators degrees from frame to frame.
    # noise_level: standard deviation of the Gaussian noise, for pixels in [0, 1].
    # factor: down-sampling along height and width.
    # seed: of the noise.
    parameters = {
        "picture": ["astronaut"],
        "image_size": [256],
        "num_operators": [4],
        "sigma": [1.0],
        "noise_level": [0.02],
        "factor": [2],
        "seed": [0],
    }

    test_parameters = {"image_size": [32]}

    def get_data(self):
        truth = load_picture(self.picture, self.image_size)
        physics = MultiFrameSuperResolution(
            tuple(truth.shape[-2:]),
            num_operators=self.num_operators,
            sigma=self.sigma,
            factor=self.factor,
        )
        frames = physics.forward(truth)
        return {
            "ground_truth": truth,
            "physics": physics,
            "measurements": add_gaussian_noise(frames, self.noise_level, self.seed),
            "dataset": self.description(),
        }
