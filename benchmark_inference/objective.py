from benchopt import BaseObjective

from iterscope.benchopt import Described, evaluation_row
from iterscope.image_metrics import image_quality


class Objective(Described, BaseObjective):
    """Quality of a reconstruction, and what the profiler measured in the iteration before it."""

    name = "reconstruction_objective"
    min_benchopt_version = "1.10"
    requirements = ["pip::torch", "pip::scikit-image"]

    # save_images: keep truth, measurement, start and reconstruction in the results file (as the
    # last row's `final_results`); off by default, as a grid of large images would fill the disk.
    parameters = {"save_images": [False]}

    def set_data(self, ground_truth, physics, measurements, dataset):
        """Take (batch, channel, [depth,] height, width) in [0, 1] and a list of measurements."""
        self.ground_truth = ground_truth
        self.physics = physics
        self.measurements = measurements
        self.dataset = dataset

    def get_objective(self):
        return {
            "physics": self.physics,
            "measurements": self.measurements,
            "dataset": self.dataset,
            "keep_start": self.save_images,
        }

    def evaluate_result(self, reconstruction, metrics, run_name, start=None):
        qualities = image_quality(reconstruction, self.ground_truth)
        return evaluation_row(qualities, metrics, run_name)

    def get_one_result(self):
        return {"reconstruction": self.ground_truth, "metrics": {}, "run_name": "one_result"}

    def save_final_results(self, reconstruction, metrics, run_name, start=None):
        if not self.save_images:
            return None
        images = {
            "truth": self.ground_truth,
            "measurement": self.measurements[0],
            "start": start,
            "reconstruction": reconstruction,
        }
        return {name: image.cpu().numpy() for name, image in images.items()}
