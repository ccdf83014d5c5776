#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/trampoline.h>

#include <iterscope/denoisers/make_denoiser.hpp>
#include <iterscope/denoisers/tv_denoiser.hpp>

#include "bindings.hpp"
#include "tensor_call.hpp"
#include "tensor_caster.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace iterscope::python {

namespace {

/// Lets a Python class be a Denoiser.
struct PyDenoiser : Denoiser {
    NB_TRAMPOLINE(Denoiser);

    at::Tensor denoise(const at::Tensor& x, double sigma) override
    {
        NB_OVERRIDE_PURE(denoise, x, sigma);
    }
    void reset() override { NB_OVERRIDE(reset); }
};

}  // namespace

void bind_denoisers(nb::module_& module)
{
    nb::class_<Denoiser, PyDenoiser> type(
        module, "Denoiser",
        "Removes noise of a given level from images [batch, channels, ...].\n\n"
        "Subclasses give ``denoise(x, sigma)``, and ``reset()`` if they keep anything between "
        "calls.");
    type.def(nb::init<>());
    for (const char* name : {"denoise", "__call__"}) {
        type.def(
            name,
            [](Denoiser& self, const at::Tensor& x, double sigma) {
                return call_unlocked([&] { return self.denoise(x, sigma); });
            },
            "x"_a, "sigma"_a,
            "`x` without noise of standard deviation `sigma`: a tensor of the same shape and "
            "dtype.");
    }
    type.def("reset", &Denoiser::reset, "Forget what is kept between calls.");

    nb::class_<TVDenoiser, Denoiser>(
        module, "TVDenoiser",
        "Isotropic total variation: approaches argmin_z 1/2 |z - x|^2 + sigma TV(z) for images\n"
        "[B, C, H, W] and volumes [B, C, D, H, W], each channel for itself.\n\n"
        "Parameters are those of DeepInv's TVDenoiser, and so is the result after equal inner\n"
        "iterations. With `warm_start` a call begins where the last one of that shape ended.")
        .def(
            "__init__",
            [](TVDenoiser* self, std::int64_t n_it_max, double crit, double tau, double rho,
               bool warm_start) {
                new (self) TVDenoiser(TVOptions{n_it_max, crit, tau, rho, warm_start});
            },
            "n_it_max"_a = 1000, "crit"_a = 1e-5, "tau"_a = 0.01, "rho"_a = 1.99,
            "warm_start"_a = true)
        .def("__reduce__",
             [](nb::handle self) {
                 const TVOptions& options = nb::cast<const TVDenoiser&>(self).options();
                 return nb::make_tuple(
                     self.type(), nb::make_tuple(options.max_iterations, options.tolerance,
                                                 options.tau, options.rho, options.warm_start));
             })
        .def_prop_ro(
            "iterations", [](const TVDenoiser& self) { return self.iterations(); },
            "Inner iterations that each image [B] of the last call took; None before.");

    module.def(
        "total_variation",
        [](const at::Tensor& x) { return call_unlocked([&] { return total_variation(x); }); },
        "x"_a, "Isotropic total variation [B] of images or volumes.");
    module.def(
        "make_denoiser",
        [](const std::string& name, std::int64_t n_it_max, double crit, double tau, double rho,
           bool warm_start) {
            return make_denoiser(name, TVOptions{n_it_max, crit, tau, rho, warm_start});
        },
        "name"_a, nb::kw_only(), "n_it_max"_a = 100, "crit"_a = 1e-5, "tau"_a = 0.01,
        "rho"_a = 1.99, "warm_start"_a = true,
        "The denoiser of that name; \"tv\" is the one there is, and the options are its.");
}

}  // namespace iterscope::python
