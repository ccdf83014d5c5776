// Schemas, meta kernels and gradients of the total-variation operators.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "operators/tv.hpp"

namespace iterscope::operators {

using Steps = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

at::Tensor finite_difference(const at::Tensor& x)
{
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("iterscope::finite_difference", "")
                               .typed<at::Tensor(const at::Tensor&)>();
    return op.call(x);
}

at::Tensor finite_difference_adjoint(const at::Tensor& u)
{
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("iterscope::finite_difference_adjoint", "")
                               .typed<at::Tensor(const at::Tensor&)>();
    return op.call(u);
}

Steps tv_steps(const at::Tensor& image, const at::Tensor& primal, const at::Tensor& dual,
               const at::Tensor& threshold, double tau, double rho, std::int64_t iterations,
               double tolerance)
{
    static const auto op =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("iterscope::tv_steps", "")
            .typed<Steps(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                         double, double, std::int64_t, double)>();
    return op.call(image, primal, dual, threshold, tau, rho, iterations, tolerance);
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Each is the other's backward, through the dispatcher: second derivatives follow.

struct DifferenceFunction : torch::autograd::Function<DifferenceFunction> {
    static at::Tensor forward(AutogradContext*, const at::Tensor& x)
    {
        at::AutoDispatchBelowADInplaceOrView guard;
        return finite_difference(x);
    }
    static variable_list backward(AutogradContext*, const variable_list& gradients)
    {
        return {finite_difference_adjoint(gradients[0])};
    }
};

struct DifferenceAdjointFunction : torch::autograd::Function<DifferenceAdjointFunction> {
    static at::Tensor forward(AutogradContext*, const at::Tensor& u)
    {
        at::AutoDispatchBelowADInplaceOrView guard;
        return finite_difference_adjoint(u);
    }
    static variable_list backward(AutogradContext*, const variable_list& gradients)
    {
        return {finite_difference(gradients[0])};
    }
};

at::Tensor difference_autograd(const at::Tensor& x) { return DifferenceFunction::apply(x); }

at::Tensor difference_adjoint_autograd(const at::Tensor& u)
{
    return DifferenceAdjointFunction::apply(u);
}

Steps tv_steps_autograd(const at::Tensor& image, const at::Tensor& primal, const at::Tensor& dual,
                        const at::Tensor& threshold, double tau, double rho,
                        std::int64_t iterations, double tolerance)
{
    if (at::GradMode::is_enabled() && (image.requires_grad() || primal.requires_grad() ||
                                       dual.requires_grad() || threshold.requires_grad())) {
        return composite::tv_steps(image, primal, dual, threshold, tau, rho, iterations, tolerance);
    }
    at::AutoDispatchBelowADInplaceOrView guard;
    return tv_steps(image, primal, dual, threshold, tau, rho, iterations, tolerance);
}

at::Tensor difference_meta(const at::Tensor& x)
{
    check_difference_image(x);
    c10::SymDimVector shape(x.sym_sizes());
    shape.insert(shape.begin(), c10::SymInt(x.dim() - 2));
    return at::empty_symint(shape, x.options());
}

at::Tensor difference_adjoint_meta(const at::Tensor& u)
{
    check_difference_field(u);
    return at::empty_symint(u.sym_sizes().slice(1), u.options());
}

Steps tv_steps_meta(const at::Tensor& image, const at::Tensor& primal, const at::Tensor& dual,
                    const at::Tensor& threshold, double tau, double rho, std::int64_t iterations,
                    double tolerance)
{
    check_tv(image, primal, dual, threshold, tau, rho, iterations, tolerance);
    return {at::empty_symint(image.sym_sizes(), image.options()),
            at::empty_symint(dual.sym_sizes(), dual.options()),
            at::empty_symint({image.sym_size(0)}, image.options().dtype(at::kLong))};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(iterscope, library)
{
    library.def("finite_difference(Tensor x) -> Tensor", {at::Tag::pt2_compliant_tag});
    library.def("finite_difference_adjoint(Tensor u) -> Tensor", {at::Tag::pt2_compliant_tag});
    library.def(
        "tv_steps(Tensor image, Tensor primal, Tensor dual, Tensor threshold, float tau, "
        "float rho, int iterations, float tolerance) -> (Tensor, Tensor, Tensor)",
        {at::Tag::pt2_compliant_tag});
}

TORCH_LIBRARY_IMPL(iterscope, CPU, library)
{
    library.impl("finite_difference", cpu::finite_difference);
    library.impl("finite_difference_adjoint", cpu::finite_difference_adjoint);
    library.impl("tv_steps", cpu::tv_steps);
}

TORCH_LIBRARY_IMPL(iterscope, CompositeExplicitAutograd, library)
{
    library.impl("finite_difference", composite::finite_difference);
    library.impl("finite_difference_adjoint", composite::finite_difference_adjoint);
    library.impl("tv_steps", composite::tv_steps);
}

TORCH_LIBRARY_IMPL(iterscope, Meta, library)
{
    library.impl("finite_difference", difference_meta);
    library.impl("finite_difference_adjoint", difference_adjoint_meta);
    library.impl("tv_steps", tv_steps_meta);
}

TORCH_LIBRARY_IMPL(iterscope, Autograd, library)
{
    library.impl("finite_difference", difference_autograd);
    library.impl("finite_difference_adjoint", difference_adjoint_autograd);
    library.impl("tv_steps", tv_steps_autograd);
}

}  // namespace iterscope::operators
