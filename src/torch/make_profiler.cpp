#include <iterscope/torch/make_profiler.hpp>

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <c10/core/Device.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <iostream>
#include <string_view>

#include <iterscope/error.hpp>

#include "../devices/accelerator_device.hpp"

namespace iterscope::torch {

namespace {

/// A device that this machine lacks: named, and otherwise like the host.
class AbsentDevice final : public Device {
public:
    explicit AbsentDevice(std::string name) : name_(std::move(name)) {}
    std::string name() const override { return name_; }
    bool is_accelerator() const noexcept override { return false; }
    void synchronize() override {}
    std::int64_t peak_bytes() override { return 0; }
    void reset_peak_bytes() override {}

private:
    std::string name_;
};

c10::Device parse(const std::string& text)
{
    try {
        return c10::Device(text);
    } catch (const c10::Error& error) {
        throw ConfigError("unknown device '" + text + "' (" + error.what_without_backtrace() +
                          "); use a name such as cpu, cuda or cuda:1");
    }
}

/// Number of devices of a type that can be used; 0 if PyTorch was built or runs without it.
int count_devices(c10::DeviceType type)
{
    try {
        // Asked first: where CUDA is absent torch.compile puts a guard in its place that has devices.
        if (!at::globalContext().getAcceleratorHooksInterface(type).isAvailable()) {
            return 0;
        }
    } catch (const c10::Error&) {  // a type without hooks: its guard alone knows
    }
    return c10::impl::hasDeviceGuardImpl(type) ? c10::impl::VirtualGuardImpl(type).deviceCount()
                                               : 0;
}

std::string_view minor_of(std::string_view version)
{
    return version.substr(0, version.find('.', version.find('.') + 1));
}

void require_built_version()
{
    const std::string loaded = loaded_version();
    if (!loaded.empty() && minor_of(loaded) != minor_of(built_version())) {
        throw ConfigError("iterscope was built against PyTorch " + built_version() +
                          ", PyTorch " + loaded +
                          " is loaded (their binary layouts differ); rebuild iterscope against "
                          "the installed PyTorch");
    }
}

}  // namespace

std::shared_ptr<Device> make_device(const std::string& text,
                                    const std::function<void(const std::string&)>& warn)
{
    const c10::Device device = parse(text);
    if (device.is_cpu()) {
        return std::make_shared<CpuDevice>();
    }
    const int count = count_devices(device.type());
    if (count == 0) {
        warn("there is no device '" + text +
             "' on this machine (PyTorch finds none of its type); its memory fields stay 0");
        return std::make_shared<AbsentDevice>(device.str());
    }
    if (device.has_index() && device.index() >= count) {
        throw ConfigError("there is no device '" + text + "' (this machine has " +
                          std::to_string(count) + " of its type, counted from 0); choose another");
    }
    return std::make_shared<AcceleratorDevice>(device);
}

std::unique_ptr<Profiler> make_profiler(Options options, Services services)
{
    require_built_version();
    if (!services.warn) {
        services.warn = [](const std::string& line) { std::cerr << "iterscope: " + line + "\n"; };
    }
    if (!services.device) {
        if (options.mode == Mode::null) {
            services.device = std::make_shared<CpuDevice>();
            parse(options.device);
        } else {
            services.device = make_device(options.device, services.warn);
        }
    }
    services.versions.emplace_back("torch", loaded_version());
    return iterscope::make_profiler(std::move(options), std::move(services));
}

std::string built_version() { return ITERSCOPE_TORCH_VERSION; }

std::string loaded_version()
{
    // The one place where libtorch says its version at run time.
    constexpr std::string_view k_key = "TORCH_VERSION=";
    static const std::string config = at::show_config();
    const std::size_t start = config.find(k_key);
    if (start == std::string::npos) {
        return {};
    }
    const std::size_t first = start + k_key.size();
    return config.substr(first, config.find_first_of(", \n", first) - first);
}

}  // namespace iterscope::torch
