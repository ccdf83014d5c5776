#include <c10/core/Allocator.h>
#include <gtest/gtest.h>

#include <iterscope/error.hpp>
#include <iterscope/torch/make_profiler.hpp>

#include "support/private_use_backend.hpp"

namespace iterscope {
namespace {

using test::PrivateUse;
using Calls = std::vector<std::string>;

std::shared_ptr<Device> make_quiet_device(const char* name)
{
    return torch::make_device(name, [](const std::string& line) { ADD_FAILURE() << line; });
}

c10::DataPtr allocate_mb(std::size_t mebibytes)
{
    return c10::GetAllocator(PrivateUse::k_type)->allocate(mebibytes << 20U);
}

double metric(const Profiler& profiler, const std::string& name)
{
    for (const auto& [key, value] : profiler.current_metrics()) {
        if (key == name) {
            return value;
        }
    }
    return -1;
}

TEST(AcceleratorDevice, AsksTheDeviceThatWasChosen)
{
    PrivateUse& backend = PrivateUse::reset();
    const auto device = make_quiet_device("privateuseone:1");
    EXPECT_EQ(device->name(), "privateuseone:1");
    EXPECT_TRUE(device->is_accelerator());
    device->synchronize();
    device->peak_bytes();
    device->reset_peak_bytes();
    EXPECT_EQ(backend.calls, (Calls{"synchronize 1", "stats 1", "reset 1"}));
}

TEST(AcceleratorDevice, WithoutAnIndexItIsTheCurrentOneOfTheFirstUse)
{
    PrivateUse& backend = PrivateUse::reset();
    const auto device = make_quiet_device("privateuseone");
    backend.current_device = 1;
    device->synchronize();
    backend.current_device = 0;
    device->reset_peak_bytes();
    EXPECT_EQ(backend.calls, (Calls{"synchronize 1", "reset 1"}));
}

TEST(AcceleratorDevice, AsksNothingBeforeTheProgramHasInitialisedIt)
{
    PrivateUse& backend = PrivateUse::reset();
    backend.is_initialized = false;
    const auto device = make_quiet_device("privateuseone:0");
    device->synchronize();
    EXPECT_EQ(device->peak_bytes(), 0);
    device->reset_peak_bytes();
    EXPECT_TRUE(backend.calls.empty());
    backend.is_initialized = true;
    device->synchronize();
    EXPECT_EQ(backend.calls, (Calls{"synchronize 0"}));
}

TEST(AcceleratorDevice, ReadsAllocatedBytesNotReservedOnes)
{
    PrivateUse::reset();
    const auto device = make_quiet_device("privateuseone:0");
    {
        const c10::DataPtr block = allocate_mb(256);
    }
    EXPECT_EQ(device->peak_bytes(), 256 << 20);
    device->reset_peak_bytes();
    EXPECT_EQ(device->peak_bytes(), 0);
}

TEST(AcceleratorDevice, AFailureIsADeviceErrorWithItsReason)
{
    PrivateUse::reset().fails = true;
    const auto device = make_quiet_device("privateuseone:0");
    try {
        device->synchronize();
        FAIL();
    } catch (const DeviceError& error) {
        EXPECT_NE(std::string(error.what()).find("a kernel went astray"), std::string::npos);
    }
}

TEST(MakeDevice, RefusesWhatDoesNotExist)
{
    PrivateUse::reset();
    const auto ignore = [](const std::string&) {};
    EXPECT_THROW(torch::make_device("gpu", ignore), ConfigError);
    EXPECT_THROW(torch::make_device("", ignore), ConfigError);
    EXPECT_THROW(torch::make_device("cuda:x", ignore), ConfigError);
    EXPECT_THROW(torch::make_device("privateuseone:2", ignore), ConfigError);
}

TEST(MakeDevice, OnlyTheCpuAndAcceleratorsAreDevices)
{
    PrivateUse::reset();
    const auto ignore = [](const std::string&) {};
    for (const char* name : {"meta", "fpga", "lazy", "opengl", "vulkan", "xla:0", "mkldnn", "ideep",
                             "ort", "ipu", "ve", "maia"}) {
        EXPECT_THROW(torch::make_device(name, ignore), ConfigError) << name;
        Options options;
        options.mode = Mode::null;
        options.device = name;
        EXPECT_THROW(torch::make_profiler(options), ConfigError) << name;
    }
}

TEST(MakeDevice, ATypeThatTheMachineLacksIsSaidOnceAndHasNoMemory)
{
    std::vector<std::string> warnings;
    const auto device =
        torch::make_device("mtia:1", [&](const std::string& line) { warnings.push_back(line); });
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("mtia:1"), std::string::npos);
    EXPECT_FALSE(device->is_accelerator());
    device->synchronize();
    EXPECT_EQ(device->peak_bytes(), 0);
}

TEST(TorchMakeProfiler, NestedRegionsOnAnAccelerator)
{
    PrivateUse& backend = PrivateUse::reset();
    Options options;
    options.device = "privateuseone:0";
    options.warmup = 1;
    const auto profiler = torch::make_profiler(options);
    profiler->start();
    {
        const auto a = profiler->track_step("a");
    }
    EXPECT_TRUE(backend.calls.empty());
    profiler->end_iteration();
    EXPECT_EQ(backend.calls, (Calls{"synchronize 0", "reset 0"}));

    const c10::DataPtr kept = allocate_mb(8);
    {
        const auto outer = profiler->track_step("outer");
        {
            const c10::DataPtr block = allocate_mb(100);
        }
        const auto inner = profiler->track_step("inner");
        const c10::DataPtr block = allocate_mb(40);
    }
    backend.calls.clear();
    profiler->end_iteration();
    EXPECT_EQ(backend.calls, (Calls{"synchronize 0", "stats 0", "reset 0"}));
    EXPECT_EQ(metric(*profiler, "inner_max_gpu_mb"), 48);
    EXPECT_EQ(metric(*profiler, "outer_max_gpu_mb"), 108);
    EXPECT_EQ(metric(*profiler, "max_gpu_mb"), 108);
}

TEST(TorchMakeProfiler, TheNullModeTouchesNoDevice)
{
    PrivateUse& backend = PrivateUse::reset();
    Options options;
    options.mode = Mode::null;
    options.device = "privateuseone:0";
    const auto profiler = torch::make_profiler(options);
    profiler->start();
    {
        const auto a = profiler->track_step("a");
    }
    profiler->end_iteration();
    EXPECT_TRUE(backend.calls.empty());
    options.device = "gpu";
    EXPECT_THROW(torch::make_profiler(options), ConfigError);
}

TEST(TorchVersion, TheLoadedOneIsKnown)
{
    EXPECT_EQ(torch::loaded_version().substr(0, 4), torch::built_version().substr(0, 4));
}

}  // namespace
}  // namespace iterscope
