#include "profiler_options.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <iterscope/error.hpp>
#include <iterscope/torch/make_profiler.hpp>

#include "bindings.hpp"
#include "process_group.hpp"

namespace iterscope::python {

namespace nb = nanobind;

namespace {

ParameterValue read_value(nb::handle value)
{
    if (value.is_none()) {
        return {};
    }
    if (PyBool_Check(value.ptr())) {
        return value.is(Py_True);
    }
    std::int64_t integer = 0;
    if (nb::try_cast(value, integer, false)) {
        return integer;
    }
    if (PyFloat_Check(value.ptr())) {
        return PyFloat_AS_DOUBLE(value.ptr());
    }
    return nb::cast<std::string>(value);
}

/// Lets others run Python while the profiler waits for the device.
class UnlockingDevice final : public Device {
public:
    explicit UnlockingDevice(std::shared_ptr<Device> device) : device_(std::move(device)) {}

    std::string name() const override { return device_->name(); }
    bool is_accelerator() const noexcept override { return device_->is_accelerator(); }
    void synchronize() override
    {
        if (PyGILState_Check() == 0) {
            device_->synchronize();  // a solver in C++ has let go of the lock already
            return;
        }
        const nb::gil_scoped_release unlocked;
        device_->synchronize();
    }
    std::int64_t peak_bytes() override { return device_->peak_bytes(); }
    void reset_peak_bytes() override { device_->reset_peak_bytes(); }

private:
    std::shared_ptr<Device> device_;
};

}  // namespace

bool read_options(PyObject* given, Options& options)
{
    try {
        const auto dict = nb::borrow<nb::dict>(given);
        options.mode = parse_mode(nb::cast<std::string>(dict["mode"]));
        options.device = nb::cast<std::string>(dict["device"]);
        const auto name = nb::cast<nb::bytes>(dict["name"]);
        options.name.assign(name.c_str(), name.size());
        options.warmup = nb::cast<std::int64_t>(dict["warmup"]);
        options.active = nb::cast<std::int64_t>(dict["active"]);
        options.repeat = nb::cast<std::int64_t>(dict["repeat"]);
        options.collector = parse_collector(nb::cast<std::string>(dict["collector"]));
        options.per_step = nb::cast<bool>(dict["per_step"]);
        options.save_file = nb::cast<bool>(dict["save_file"]);
        options.trace_dir = nb::cast<std::optional<std::string>>(dict["trace_dir"]);
        for (const auto& [key, value] : nb::borrow<nb::dict>(dict["parameters"])) {
            options.parameters.emplace_back(nb::cast<std::string>(key), read_value(value));
        }
    } catch (nb::python_error& error) {
        error.restore();
        return false;
    } catch (const nb::cast_error&) {
        PyErr_SetString(PyExc_TypeError, "Profiler takes what create_profiler hands it; call that");
        return false;
    }
    return true;
}

void make_shared_profiler(Options options, SharedProfiler& shared)
{
    Services services;
    services.warn = [&shared](const std::string& line) { shared.lines.warn(line); };
    services.inform = [&shared](const std::string& line) { shared.lines.inform(line); };
    services.process_group = [] {
        const nb::gil_scoped_acquire locked;
        return process_group();
    };
    services.versions = {{"python", PY_VERSION}};
    if (options.mode != Mode::null) {
        services.device =
            std::make_shared<UnlockingDevice>(torch::make_device(options.device, services.warn));
    }
    shared.profiler = torch::make_profiler(std::move(options), std::move(services));
}

}  // namespace iterscope::python
