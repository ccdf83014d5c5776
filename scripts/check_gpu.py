"""PnP in custom mode on the GPU: the CPU's result, and times and memory that make sense."""

from __future__ import annotations

import os
import tempfile

import torch

import iterscope
from iterscope.denoisers import TVDenoiser
from iterscope.physics import MultiFrameSuperResolution, add_gaussian_noise, gaussian_kernels
from iterscope.solvers import PnP

SIZE = 512
ITERATIONS = 20
WARMUP = 2


def reconstruct(device: str) -> tuple[torch.Tensor, list[dict[str, float]]]:
    """The image that PnP makes on `device`, and the metrics of every recorded iteration."""
    generator = torch.Generator().manual_seed(0)
    truth = torch.rand((1, 3, SIZE, SIZE), generator=generator)
    physics = MultiFrameSuperResolution((SIZE, SIZE), gaussian_kernels(8, 5))
    measurements = add_gaussian_noise(physics.forward(truth), 0.02, 0)
    profiler = iterscope.create_profiler(
        "custom", device, "check_gpu", warmup=WARMUP, save_file=True
    )
    denoiser = TVDenoiser(n_it_max=20)
    solver = PnP(physics, measurements, denoiser, profiler, device=device, denoiser_sigma=0.02)
    metrics = []
    with profiler:
        solver.initialize()
        profiler.start_iterations()
        for _ in range(ITERATIONS):
            solver.step()
            profiler.end_iteration()
            metrics.append(profiler.get_current_metrics())
    return solver.reconstruction().cpu(), metrics[WARMUP:]


def check(metrics: dict[str, float]) -> None:
    """One iteration on the GPU: regions inside the iteration, and the images within the peak."""
    regions = metrics["gradient_time_sec"] + metrics["denoise_time_sec"]
    assert 0 < regions <= metrics["total_time_sec"], metrics
    image_mb = 3 * SIZE**2 * 4 / 1024**2
    for region in ("gradient", "denoise"):
        assert image_mb < metrics[f"{region}_max_gpu_mb"] <= metrics["max_gpu_mb"], metrics


def main() -> None:
    """Compare the GPU with the CPU."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        on_cpu, _ = reconstruct("cpu")
        on_gpu, metrics = reconstruct("cuda:0")
    difference = (on_gpu - on_cpu).abs().max().item()
    print(f"largest difference between GPU and CPU: {difference:.2g}")
    assert difference < 1e-3
    for iteration in metrics:
        check(iteration)
    print({name: round(value, 6) for name, value in metrics[-1].items()})


if __name__ == "__main__":
    main()
