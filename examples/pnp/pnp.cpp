// Plug-and-play multi-frame super-resolution on libtorch, profiled; no Python in the process.
//
// usage: pnp [DEVICE [ITERATIONS]]      DEVICE: cpu, cuda, cuda:1, ...
//
// Eight blurred, down-sampled, noisy frames of a generated picture are put together again. Writes
// outputs/pnp_run.json and outputs/pnp_gpu_metrics.csv, and prints the PSNR before and after.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include <iterscope/denoisers/tv_denoiser.hpp>
#include <iterscope/physics/gaussian_kernels.hpp>
#include <iterscope/physics/multi_frame_super_resolution.hpp>
#include <iterscope/physics/noise.hpp>
#include <iterscope/solvers/pnp.hpp>
#include <iterscope/torch/make_profiler.hpp>

namespace {

constexpr std::int64_t k_size = 128;

/// [1, 3, size, size] in [0, 1]: discs with sharp edges, and a wave of its own in each channel.
at::Tensor picture()
{
    const at::Tensor line = at::arange(k_size, at::kFloat).div(k_size).sub(0.5);
    const at::Tensor y = line.unsqueeze(1);
    const at::Tensor x = line.unsqueeze(0);
    const at::Tensor disc = (x * x + y * y).lt(0.12).to(at::kFloat);
    const at::Tensor hole =
        ((x - 0.1) * (x - 0.1) + (y + 0.05) * (y + 0.05)).lt(0.02).to(at::kFloat);
    const at::Tensor shape = 0.7 * disc - 0.4 * hole;
    std::vector<at::Tensor> channels;
    for (int channel = 0; channel < 3; ++channel) {
        const at::Tensor wave = at::sin((x * (channel + 1) + y) * 20.0).mul(0.1).add(0.15);
        channels.push_back((shape + wave).clamp(0, 1).unsqueeze(0));
    }
    return at::cat(channels, 0).unsqueeze(0);
}

double psnr(const at::Tensor& image, const at::Tensor& truth)
{
    return -10.0 * std::log10((image.to(at::kCPU) - truth).square().mean().item<double>());
}

int run(const std::string& device, int iterations)
{
    const at::Tensor truth = picture();
    const auto physics = std::make_shared<iterscope::MultiFrameSuperResolution>(
        std::array<std::int64_t, 2>{k_size, k_size}, iterscope::gaussian_kernels(8, 5, {1.4, 0.7}));
    const auto measurements = iterscope::add_gaussian_noise(physics->forward(truth), 0.02, 0);

    iterscope::Options options;
    options.mode = iterscope::Mode::custom;
    options.device = device;
    options.name = "pnp";
    options.warmup = 2;
    options.save_file = true;
    const std::shared_ptr<iterscope::Profiler> profiler = iterscope::torch::make_profiler(options);

    iterscope::PnPOptions solver_options;
    solver_options.device = device;
    solver_options.init_method = iterscope::InitMethod::adjoint;
    solver_options.denoiser_sigma = 0.02;
    iterscope::TVOptions denoiser_options;
    denoiser_options.max_iterations = 50;
    iterscope::PnP solver(physics, measurements,
                          std::make_shared<iterscope::TVDenoiser>(denoiser_options), profiler,
                          solver_options);

    profiler->start();
    solver.initialize();
    std::cout << "psnr_start " << psnr(solver.reconstruction(), truth) << '\n';
    profiler->start_iterations();
    for (int iteration = 0; iteration < iterations; ++iteration) {
        solver.step();
        profiler->end_iteration();
    }
    for (const auto& [name, value] : profiler->current_metrics()) {
        std::cout << "last " << name << ' ' << value << '\n';
    }
    profiler->finalize();

    for (const auto& [kind, path] : profiler->files()) {
        std::cout << "file " << kind << ' ' << path.string() << '\n';
    }
    std::cout << "psnr_end " << psnr(solver.reconstruction(), truth) << '\n';
    return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        return run(argc > 1 ? argv[1] : "cpu", argc > 2 ? std::atoi(argv[2]) : 20);
    } catch (const std::exception& error) {
        std::cerr << "pnp: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
