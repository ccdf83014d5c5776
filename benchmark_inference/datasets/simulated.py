from benchopt import BaseDataset

from iterscope import ConfigError
from iterscope.benchopt import Described
from iterscope.physics import Denoising, MultiFrameSuperResolution, add_gaussian_noise
from iterscope.simulation import generate_pattern


class Dataset(Described, BaseDataset):
    """A generated pattern of smooth and sharp shapes, 2-D or 3-D; needs no file."""

    name = "simulated"
    requirements = ["pip::torch"]

    # task: denoising (2-D and 3-D) or superres (2-D; frames as in multiframe_superres).
    # dimension: 2 for images, 3 for volumes.
    # image_size: side of the square or cube.
    # batch_size, channels: images a batch, each with its own pattern, and channels an image.
    # num_operators, factor: frames and down-sampling of superres; denoising does not use them.
    # noise_level: standard deviation of the Gaussian noise, for pixels in [0, 1].
    # seed: of the patterns and the noise.
    parameters = {
        "task": ["denoising"],
        "dimension": [2],
        "image_size": [64],
        "batch_size": [1],
        "channels": [1],
        "num_operators": [4],
        "factor": [2],
        "noise_level": [0.1],
        "seed": [0],
    }

    test_parameters = {"task, dimension": [("denoising", 2), ("superres", 2), ("denoising", 3)]}
    test_config = {"image_size": 32}

    def get_data(self):
        truth = generate_pattern(
            self.batch_size, self.channels, (self.image_size,) * self.dimension, self.seed
        )
        physics = self._physics(tuple(truth.shape[2:]))
        clean = physics.forward(truth)
        return {
            "ground_truth": truth,
            "physics": physics,
            # Another stream than the pattern's.
            "measurements": add_gaussian_noise(clean, self.noise_level, self.seed + 1),
            "dataset": self.description(),
        }

    def _physics(self, shape):
        if self.task == "denoising":
            return Denoising()
        if self.task != "superres":
            raise ConfigError(
                f"unknown task '{self.task}' (this dataset knows two); use denoising or superres"
            )
        if len(shape) != 2:
            raise ConfigError(
                f"task superres with dimension {len(shape)} cannot be (its frames are images); use "
                "dimension 2, or task denoising"
            )
        return MultiFrameSuperResolution(
            shape, num_operators=self.num_operators, factor=self.factor
        )
