#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <iterscope/denoisers/make_denoiser.hpp>
#include <iterscope/error.hpp>
#include <iterscope/solvers/pnp.hpp>

#include "bindings.hpp"
#include "garbage_collection.hpp"
#include "process_group.hpp"
#include "sizes.hpp"
#include "solvers/default_device.hpp"
#include "tensor_call.hpp"
#include "tensor_caster.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace iterscope::python {

namespace {

std::shared_ptr<Denoiser> denoiser_from(const nb::object& value)
{
    std::string name;
    if (nb::try_cast(value, name)) {
        return make_denoiser(name);
    }
    std::shared_ptr<Denoiser> denoiser;
    if (value.is_none() || !nb::try_cast(value, denoiser)) {
        throw nb::type_error(
            "denoiser must be a name or an iterscope.denoisers.Denoiser; wrap DeepInv's with "
            "iterscope.deepinv.wrap_denoiser.");
    }
    return denoiser;
}

/// A torch.device or its name.
std::optional<std::string> device_from(const nb::object& value)
{
    if (value.is_none()) {
        return std::nullopt;
    }
    return nb::cast<std::string>(nb::str(value));
}

void init_pnp(PnP* self, const nb::object& physics, const Measurements& measurements,
              const nb::object& denoiser, const nb::object& profiler, const nb::object& image_size,
              const nb::object& patch_size, const nb::object& overlap, std::int64_t max_batch_size,
              std::optional<double> denoiser_lambda_relaxation, std::optional<double> step_size,
              double step_size_scale, double denoiser_sigma, bool distribute_physics,
              bool distribute_denoiser, const std::string& init_method,
              const std::string& norm_strategy,
              const std::optional<std::array<double, 2>>& value_range, const nb::object& device,
              const std::optional<std::string>& compile, const nb::object& /*slurm_nodes*/,
              const nb::object& /*slurm_ntasks_per_node*/, const nb::object& /*slurm_gres*/,
              const nb::object& /*torchrun_nproc_per_node*/, const nb::object& /*name_prefix*/)
{
    std::shared_ptr<LinearPhysics> operators;
    if (physics.is_none() || !nb::try_cast(physics, operators)) {
        throw nb::type_error(
            "physics must be an iterscope.physics.LinearPhysics; wrap DeepInv's with "
            "iterscope.deepinv.wrap_physics.");
    }
    PnPOptions options;
    if (!image_size.is_none()) {
        options.image_size = sizes_from(image_size, "image_size");
    }
    options.patch_size = sizes_from(patch_size, "patch_size");
    options.overlap = sizes_from(overlap, "overlap");
    options.max_batch_size = max_batch_size;
    options.denoiser_lambda_relaxation = denoiser_lambda_relaxation;
    options.step_size = step_size;
    options.step_size_scale = step_size_scale;
    options.denoiser_sigma = denoiser_sigma;
    options.distribute_physics = distribute_physics;
    options.distribute_denoiser = distribute_denoiser;
    options.init_method = parse_init_method(init_method);
    options.norm_strategy = parse_norm_strategy(norm_strategy);
    options.value_range = value_range;
    options.device = device_from(device);
    const std::optional<ProcessGroup> group = process_group();
    if (!options.device && group && !measurements.empty() && measurements[0].defined()) {
        options.device = solver_device({}, measurements[0].device(), group).str();
    }
    options.compile = compile;
    new (self) PnP(operators, measurements, denoiser_from(denoiser),
                   profiler.is_none() ? nullptr : profiler_from(profiler), std::move(options));
}

}  // namespace

void bind_solvers(nb::module_& module)
{
    module.def(
        "solver_device",
        [](const nb::object& device) {
            return solver_device(device_from(device), c10::kCPU, process_group()).str();
        },
        "device"_a = nb::none(),
        "The device asked for, or this process's own GPU, or without CUDA the CPU. The default's\n"
        "index is the local rank that the launcher gave, or 0 where the process sees one GPU.\n"
        "Raises ConfigError for a device that is unknown or not there.");
    nb::class_<PnP>(
        module, "PnP", nb::type_slots(pnp_slots),
        "Plug-and-play proximal gradient descent. One step() is\n\n"
        "- region ``gradient``: z = x - step_size A^T(A x - y);\n"
        "- region ``denoise``: x = D_sigma(z); with ``denoiser_lambda_relaxation`` l it is mixed\n"
        "  with z by the weight step_size l / (1 + step_size l); ``clip`` then clips it to\n"
        "  ``value_range`` ((0, 1) by default), ``dynamic`` instead maps that range (by default\n"
        "  the image's own) to [0, 1] before the denoiser and back after.\n\n"
        "The loop calls ``profiler.end_iteration()`` after every step. ``slurm_*``, "
        "``torchrun_*``\n"
        "and ``name_prefix`` are for launchers: accepted, and not looked at.")
        .def("__init__", &init_pnp, "physics"_a, "measurements"_a, "denoiser"_a = "tv",
             "profiler"_a = nb::none(), nb::kw_only(), "image_size"_a = nb::none(),
             "patch_size"_a = 128, "overlap"_a = 32, "max_batch_size"_a = 0,
             "denoiser_lambda_relaxation"_a = nb::none(), "step_size"_a = nb::none(),
             "step_size_scale"_a = 0.99, "denoiser_sigma"_a = 0.05, "distribute_physics"_a = false,
             "distribute_denoiser"_a = false, "init_method"_a = "pseudo_inverse",
             "norm_strategy"_a = "clip", "value_range"_a = nb::none(), "device"_a = nb::none(),
             "compile"_a = nb::none(), "slurm_nodes"_a = 1, "slurm_ntasks_per_node"_a = 1,
             "slurm_gres"_a = "gpu:1", "torchrun_nproc_per_node"_a = 1, "name_prefix"_a = "pnp")
        .def(
            "initialize", [](PnP& self) { call_unlocked([&] { self.initialize(); }); },
            "Set the first image and the step size, and reset the denoiser.")
        .def(
            "step", [](PnP& self) { call_unlocked([&] { self.step(); }); }, "Do one iteration.")
        .def(
            "reconstruction",
            [](const PnP& self) { return call_unlocked([&] { return self.reconstruction(); }); },
            "The present image [batch, channels, ...]; later steps leave it alone.")
        .def_prop_ro("step_size", &PnP::step_size, "Step of the gradient.")
        .def_prop_ro("iteration", &PnP::iteration, "Steps done since initialize().")
        .def_prop_ro(
            "nonfinite_iteration",
            [](const PnP& self) {
                return call_unlocked([&] { return self.nonfinite_iteration(); });
            },
            "The first step (from 0) that gave NaN or infinity, -1 for the start; None if none "
            "did.");
}

}  // namespace iterscope::python
