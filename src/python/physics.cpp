#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nanobind/trampoline.h>

#include <iterscope/error.hpp>
#include <iterscope/physics/denoising.hpp>
#include <iterscope/physics/gaussian_kernels.hpp>
#include <iterscope/physics/multi_frame_super_resolution.hpp>
#include <iterscope/physics/noise.hpp>
#include <iterscope/physics/stacked_physics.hpp>

#include "bindings.hpp"
#include "garbage_collection.hpp"
#include "sizes.hpp"
#include "tensor_call.hpp"
#include "tensor_caster.hpp"
#include "tensor_errors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace iterscope::python {

namespace {

/// Lets a Python class be a LinearPhysics.
struct PyLinearPhysics : LinearPhysics {
    NB_TRAMPOLINE(LinearPhysics);

    Measurements forward(const at::Tensor& x) const override { NB_OVERRIDE_PURE(forward, x); }
    at::Tensor adjoint(const Measurements& y) const override { NB_OVERRIDE_PURE(adjoint, y); }
    std::int64_t measurement_count() const override { NB_OVERRIDE(measurement_count); }
    at::Tensor normal(const at::Tensor& x) const override { NB_OVERRIDE(normal, x); }
    double norm_squared(const at::Tensor& like) const override { NB_OVERRIDE(norm_squared, like); }
    at::Tensor pseudo_inverse(const Measurements& y, const InverseOptions& options) const override
    {
        // An override in Python needs to take the measurements only.
        constexpr const char* k_name = "pseudo_inverse";
        const nb::detail::ticket ticket(nb_trampoline, k_name, nb::detail::str_hash(k_name), false);
        if (ticket.key.is_valid()) {
            return nb::cast<at::Tensor>(nb_trampoline.base().attr(ticket.key)(y));
        }
        return LinearPhysics::pseudo_inverse(y, options);
    }
};

std::array<double, 2> sigma_from(nb::handle sigma)
{
    double both = 0;
    std::array<double, 2> each{};
    if (nb::try_cast(sigma, both)) {
        return {both, both};
    }
    if (nb::try_cast(sigma, each)) {
        return each;
    }
    throw nb::type_error("sigma must be a number, or two: along rows and along columns.");
}

std::array<std::int64_t, 2> image_size_from(nb::handle value)
{
    const std::vector<std::int64_t> sizes = sizes_from(value, "image_size");
    if (sizes.size() == 1) {
        return {sizes[0], sizes[0]};
    }
    if (sizes.size() == 2 || sizes.size() == 3) {
        return {sizes[sizes.size() - 2], sizes.back()};
    }
    throw ConfigError("image_size has " + std::to_string(sizes.size()) +
                      " numbers; give (height, width), or (channels, height, width).");
}

at::Tensor kernels_from(const std::optional<at::Tensor>& kernels, std::optional<std::int64_t> count,
                        std::int64_t size, nb::handle sigma)
{
    if (!kernels) {
        return gaussian_kernels(count.value_or(1), size, sigma_from(sigma));
    }
    if (count && *count != kernels->size(0)) {
        throw ConfigError("num_operators is " + std::to_string(*count) + " and there are " +
                          std::to_string(kernels->size(0)) +
                          " kernels; give one of the two, or equal numbers.");
    }
    // [N, 1, kh, kw] is how DeepInv writes filters.
    return kernels->dim() == 4 && kernels->size(1) == 1 ? kernels->squeeze(1) : *kernels;
}

void bind_linear_physics(nb::module_& module)
{
    nb::class_<LinearPhysics, PyLinearPhysics> type(
        module, "LinearPhysics",
        "A linear measurement operator A on images [batch, channels, ...].\n\n"
        "Subclasses give ``forward(x)``, which returns a list of tensors (or one tensor), and\n"
        "``adjoint(y)``, its exact transpose; ``normal``, ``norm_squared``, ``pseudo_inverse`` "
        "and\n"
        "``measurement_count`` have defaults that they may override.");
    type.def(nb::init<>());
    const auto forward = [](const LinearPhysics& self, const at::Tensor& x) {
        return call_unlocked([&] { return self.forward(x); });
    };
    const auto adjoint = [](const LinearPhysics& self, const Measurements& y) {
        return call_unlocked([&] { return self.adjoint(y); });
    };
    const auto pseudo_inverse = [](const LinearPhysics& self, const Measurements& y,
                                   const std::optional<at::Tensor>& start,
                                   std::int64_t max_iterations, double tolerance) {
        const InverseOptions options{max_iterations, tolerance, start.value_or(at::Tensor())};
        return call_unlocked([&] { return self.pseudo_inverse(y, options); });
    };
    for (const char* name : {"forward", "__call__", "A"}) {
        type.def(name, forward, "x"_a, "A x: the measurements of an image, as a list.");
    }
    for (const char* name : {"adjoint", "A_adjoint"}) {
        type.def(name, adjoint, "y"_a, "A^T y: the exact transpose of forward().");
    }
    for (const char* name : {"pseudo_inverse", "A_dagger"}) {
        type.def(
            name, pseudo_inverse, "y"_a, nb::kw_only(), "start"_a = nb::none(),
            "max_iterations"_a = 50, "tolerance"_a = 1e-5,
            "Least-squares solution of A x = y by conjugate gradients on the normal equations,\n"
            "each image of the batch for itself, from `start` (0 by default), until\n"
            "|A^T(y - A x)| <= tolerance |A^T y|.");
    }
    type.def(
        "normal",
        [](const LinearPhysics& self, const at::Tensor& x) {
            return call_unlocked([&] { return self.normal(x); });
        },
        "x"_a, "A^T A x.");
    type.def("measurement_count", &LinearPhysics::measurement_count,
             "How many tensors forward() returns and adjoint() takes.");
    type.def(
        "norm",
        [](const LinearPhysics& self, const std::optional<at::Tensor>& like) {
            return call_unlocked([&] { return self.norm(like.value_or(at::Tensor())); });
        },
        "like"_a = nb::none(),
        "Largest singular value of A. `like` is an image of the right shape, dtype and device;\n"
        "operators with a formula do not need it.");
    type.def(
        "norm_squared",
        [](const LinearPhysics& self, const std::optional<at::Tensor>& like) {
            return call_unlocked([&] { return self.norm_squared(like.value_or(at::Tensor())); });
        },
        "like"_a = nb::none(),
        "Largest eigenvalue of A^T A, to 1 % or better: the Lipschitz constant of the gradient of\n"
        "1/2 |A x - y|^2.");
}

void bind_super_resolution(nb::module_& module)
{
    nb::class_<MultiFrameSuperResolution, LinearPhysics>(
        module, "MultiFrameSuperResolution",
        "Low-resolution frames of one image: blurred by a kernel each (circular convolution) and\n"
        "sampled at every `factor`-th row and column.\n\n"
        "The kernels [frames, height, width] are given, or are `num_operators` Gaussians of\n"
        "`kernel_size` and `sigma` pixels; with two different sigmas (along rows, along columns)\n"
        "frame n is turned by n * 180 / num_operators degrees. Any image size works.")
        .def(
            "__init__",
            [](MultiFrameSuperResolution* self, const nb::object& image_size,
               const std::optional<at::Tensor>& kernels, std::int64_t factor,
               std::optional<std::int64_t> num_operators, std::int64_t kernel_size,
               const nb::object& sigma) {
                new (self) MultiFrameSuperResolution(
                    image_size_from(image_size),
                    kernels_from(kernels, num_operators, kernel_size, sigma), factor);
            },
            "image_size"_a, "kernels"_a = nb::none(), "factor"_a = 2, nb::kw_only(),
            "num_operators"_a = nb::none(), "kernel_size"_a = 5, "sigma"_a = 1.0)
        .def_prop_ro("image_size",
                     [](const MultiFrameSuperResolution& self) {
                         return nb::make_tuple(self.image_size()[0], self.image_size()[1]);
                     })
        .def_prop_ro("factor", &MultiFrameSuperResolution::factor)
        .def("__reduce__",
             [](nb::handle self) {
                 const auto& physics = nb::cast<const MultiFrameSuperResolution&>(self);
                 const auto [height, width] = physics.image_size();
                 return nb::make_tuple(
                     self.type(), nb::make_tuple(nb::make_tuple(height, width), physics.kernels(),
                                                 physics.factor()));
             })
        .def_prop_ro("kernels", &MultiFrameSuperResolution::kernels,
                     "[frames, height, width], float64 on the CPU.");
}

}  // namespace

void bind_physics(nb::module_& module)
{
    translate_tensor_errors();
    bind_linear_physics(module);
    bind_super_resolution(module);
    nb::class_<Denoising, LinearPhysics>(module, "Denoising",
                                         "The identity, on images and volumes of any size.")
        .def(nb::init<>())
        .def("__reduce__",
             [](nb::handle self) { return nb::make_tuple(self.type(), nb::make_tuple()); });
    nb::class_<StackedPhysics, LinearPhysics>(
        module, "StackedPhysics", nb::type_slots(stacked_physics_slots),
        "Operators that look at the same image: their measurements, one after the other. Adjoint\n"
        "and normal operator are sums over the operators.")
        .def(
            "__init__",
            [](StackedPhysics* self, const std::vector<std::shared_ptr<LinearPhysics>>& operators) {
                new (self) StackedPhysics({operators.begin(), operators.end()});
            },
            "operators"_a)
        .def("__reduce__", [](nb::handle self) {
            nb::list operators;
            for (const auto& part : nb::cast<const StackedPhysics&>(self).operators()) {
                operators.append(nb::cast(std::const_pointer_cast<LinearPhysics>(part)));
            }
            return nb::make_tuple(self.type(), nb::make_tuple(operators));
        });
    module.def(
        "gaussian_kernels",
        [](std::int64_t count, std::int64_t size, const nb::object& sigma) {
            return gaussian_kernels(count, size, sigma_from(sigma));
        },
        "count"_a, "size"_a = 5, "sigma"_a = 1.0,
        "`count` Gaussian blur kernels [count, size, size] in float64, each of sum 1; with two\n"
        "different sigmas (along rows, along columns) kernel n is turned by n * 180 / count "
        "degrees.");
    module.def(
        "add_gaussian_noise",
        [](nb::handle y, double sigma, std::uint64_t seed) -> nb::object {
            const Measurements noisy = add_gaussian_noise(nb::cast<Measurements>(y), sigma, seed);
            return THPVariable_Check(y.ptr()) ? nb::cast(noisy[0]) : nb::cast(noisy);
        },
        "y"_a, "sigma"_a, "seed"_a = 0,
        "Measurements (or one tensor) plus Gaussian noise of standard deviation `sigma`, from a\n"
        "generator of its own: PyTorch's global random numbers stay as they are.");
}

}  // namespace iterscope::python
