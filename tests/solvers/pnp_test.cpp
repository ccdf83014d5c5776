#include <iterscope/solvers/pnp.hpp>

#include <gtest/gtest.h>

#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include <iterscope/denoisers/make_denoiser.hpp>
#include <iterscope/error.hpp>
#include <iterscope/physics/denoising.hpp>
#include <iterscope/physics/gaussian_kernels.hpp>
#include <iterscope/physics/multi_frame_super_resolution.hpp>

namespace iterscope {
namespace {

class Half : public Denoiser {
public:
    at::Tensor denoise(const at::Tensor& x, double) override { return 0.5 * x; }
    void reset() override { ++resets; }
    int resets = 0;
};

std::shared_ptr<Profiler> custom_profiler()
{
    Options options;
    options.mode = Mode::custom;
    return make_profiler(options);
}

TEST(PnP, OneStepByHand)
{
    const auto denoiser = std::make_shared<Half>();
    PnPOptions options;
    options.step_size = 0.5;
    options.init_method = InitMethod::zeros;
    PnP solver(std::make_shared<Denoising>(), {at::zeros({1, 1, 2, 2}) + 0.8}, denoiser, nullptr,
               options);
    solver.step();
    // z = 0.5 * 0.8, x = z / 2
    EXPECT_TRUE(solver.reconstruction().allclose(at::zeros({1, 1, 2, 2}) + 0.2));
    EXPECT_EQ(solver.iteration(), 1);
    EXPECT_EQ(denoiser->resets, 1);
    EXPECT_EQ(solver.nonfinite_iteration(), std::nullopt);
}

TEST(PnP, RecordsItsTwoRegions)
{
    const auto physics = std::make_shared<MultiFrameSuperResolution>(
        std::array<std::int64_t, 2>{16, 16}, gaussian_kernels(3));
    const auto profiler = custom_profiler();
    PnP solver(physics, physics->forward(at::rand({1, 3, 16, 16})), make_denoiser("tv"), profiler);
    profiler->start();
    solver.initialize();
    profiler->start_iterations();
    for (int i = 0; i < 3; ++i) {
        solver.step();
        profiler->end_iteration();
        std::vector<std::string> names;
        for (const auto& [name, value] : profiler->current_metrics()) {
            names.push_back(name);
        }
        EXPECT_NE(std::ranges::find(names, "gradient_time_sec"), names.end());
        EXPECT_NE(std::ranges::find(names, "denoise_time_sec"), names.end());
    }
    profiler->finalize();
}

TEST(PnP, FlagsTheFirstNonFiniteStepAndGoesOn)
{
    PnPOptions options;
    options.init_method = InitMethod::zeros;
    at::Tensor y = at::zeros({1, 1, 2, 2});
    y[0][0][0][0].fill_(std::numeric_limits<double>::quiet_NaN());
    PnP solver(std::make_shared<Denoising>(), {y}, std::make_shared<Half>(), nullptr, options);
    for (int i = 0; i < 3; ++i) {
        solver.step();
    }
    EXPECT_EQ(solver.nonfinite_iteration(), 0);
    EXPECT_EQ(solver.iteration(), 3);
}

TEST(PnP, NeedsItsParts)
{
    const at::Tensor y = at::zeros({1, 1, 2, 2});
    const auto physics = std::make_shared<Denoising>();
    const auto denoiser = std::make_shared<Half>();
    EXPECT_THROW(PnP(nullptr, {y}, denoiser), ConfigError);
    EXPECT_THROW(PnP(physics, {y}, nullptr), ConfigError);
    EXPECT_THROW(PnP(physics, {y, y}, denoiser), ConfigError);
    EXPECT_THROW(PnP(physics, {y}, denoiser).reconstruction(), UsageError);
    EXPECT_THROW(PnP(physics, {y}, denoiser).step_size(), UsageError);
}

}  // namespace
}  // namespace iterscope
