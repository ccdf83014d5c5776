// Schemas, meta kernels and gradients of the super-resolution operators.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "operators/superres.hpp"

namespace iterscope::operators {

at::Tensor superres_forward(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor)
{
    static const auto op =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("iterscope::superres_forward", "")
            .typed<at::Tensor(const at::Tensor&, const at::Tensor&, std::int64_t)>();
    return op.call(x, kernels, factor);
}

at::Tensor superres_adjoint(const at::Tensor& frames, const at::Tensor& kernels,
                            std::int64_t factor, c10::SymInt height, c10::SymInt width)
{
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("iterscope::superres_adjoint", "")
                               .typed<at::Tensor(const at::Tensor&, const at::Tensor&, std::int64_t,
                                                 c10::SymInt, c10::SymInt)>();
    return op.call(frames, kernels, factor, std::move(height), std::move(width));
}

at::Tensor superres_normal(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor)
{
    static const auto op =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("iterscope::superres_normal", "")
            .typed<at::Tensor(const at::Tensor&, const at::Tensor&, std::int64_t)>();
    return op.call(x, kernels, factor);
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check_no_kernel_gradient(const at::Tensor& kernels)
{
    TORCH_CHECK_NOT_IMPLEMENTED(
        !(at::GradMode::is_enabled() && kernels.requires_grad()),
        "iterscope's super-resolution has no gradient in its blur kernels; detach them.");
}

// All three are linear in their first argument, so the backward of each is the dispatched
// transpose, which is differentiable in turn: second derivatives follow.

struct ForwardFunction : torch::autograd::Function<ForwardFunction> {
    static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                              const at::Tensor& kernels, std::int64_t factor)
    {
        context->save_for_backward({kernels});
        context->saved_data["factor"] = factor;
        context->saved_data["height"] = x.sym_size(2);
        context->saved_data["width"] = x.sym_size(3);
        at::AutoDispatchBelowADInplaceOrView guard;
        return superres_forward(x, kernels, factor);
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients)
    {
        return {superres_adjoint(gradients[0], context->get_saved_variables()[0],
                                 context->saved_data["factor"].toInt(),
                                 context->saved_data["height"].toSymInt(),
                                 context->saved_data["width"].toSymInt()),
                {},
                {}};
    }
};

struct AdjointFunction : torch::autograd::Function<AdjointFunction> {
    static at::Tensor forward(AutogradContext* context, const at::Tensor& frames,
                              const at::Tensor& kernels, std::int64_t factor, c10::SymInt height,
                              c10::SymInt width)
    {
        context->save_for_backward({kernels});
        context->saved_data["factor"] = factor;
        at::AutoDispatchBelowADInplaceOrView guard;
        return superres_adjoint(frames, kernels, factor, std::move(height), std::move(width));
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients)
    {
        return {superres_forward(gradients[0], context->get_saved_variables()[0],
                                 context->saved_data["factor"].toInt()),
                {},
                {},
                {},
                {}};
    }
};

struct NormalFunction : torch::autograd::Function<NormalFunction> {
    static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                              const at::Tensor& kernels, std::int64_t factor)
    {
        context->save_for_backward({kernels});
        context->saved_data["factor"] = factor;
        at::AutoDispatchBelowADInplaceOrView guard;
        return superres_normal(x, kernels, factor);
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients)
    {
        return {superres_normal(gradients[0], context->get_saved_variables()[0],
                                context->saved_data["factor"].toInt()),
                {},
                {}};
    }
};

at::Tensor forward_autograd(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor)
{
    check_no_kernel_gradient(kernels);
    check_superres_image(x, kernels, factor);
    return ForwardFunction::apply(x, kernels, factor);
}

at::Tensor adjoint_autograd(const at::Tensor& frames, const at::Tensor& kernels,
                            std::int64_t factor, c10::SymInt height, c10::SymInt width)
{
    check_no_kernel_gradient(kernels);
    return AdjointFunction::apply(frames, kernels, factor, std::move(height), std::move(width));
}

at::Tensor normal_autograd(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor)
{
    check_no_kernel_gradient(kernels);
    return NormalFunction::apply(x, kernels, factor);
}

at::Tensor forward_meta(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor)
{
    check_superres_image(x, kernels, factor);
    return at::empty_symint(
        {kernels.sym_size(0), x.sym_size(0), x.sym_size(1), (x.sym_size(2) + (factor - 1)) / factor,
         (x.sym_size(3) + (factor - 1)) / factor},
        x.options());
}

at::Tensor adjoint_meta(const at::Tensor& frames, const at::Tensor& kernels, std::int64_t factor,
                        c10::SymInt height, c10::SymInt width)
{
    check_superres_frames(frames, kernels, factor, height, width);
    return at::empty_symint(
        {frames.sym_size(1), frames.sym_size(2), std::move(height), std::move(width)},
        frames.options());
}

at::Tensor normal_meta(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor)
{
    check_superres_image(x, kernels, factor);
    return at::empty_symint(x.sym_sizes(), x.options());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(iterscope, library)
{
    library.def("superres_forward(Tensor x, Tensor kernels, int factor) -> Tensor",
                {at::Tag::pt2_compliant_tag});
    library.def(
        "superres_adjoint(Tensor frames, Tensor kernels, int factor, SymInt height, "
        "SymInt width) -> Tensor",
        {at::Tag::pt2_compliant_tag});
    library.def("superres_normal(Tensor x, Tensor kernels, int factor) -> Tensor",
                {at::Tag::pt2_compliant_tag});
}

TORCH_LIBRARY_IMPL(iterscope, CPU, library)
{
    library.impl("superres_forward", cpu::superres_forward);
    library.impl("superres_adjoint", cpu::superres_adjoint);
    library.impl("superres_normal", cpu::superres_normal);
}

TORCH_LIBRARY_IMPL(iterscope, CompositeExplicitAutograd, library)
{
    library.impl("superres_forward", composite::superres_forward);
    library.impl("superres_adjoint", composite::superres_adjoint);
    library.impl("superres_normal", composite::superres_normal);
}

TORCH_LIBRARY_IMPL(iterscope, Meta, library)
{
    library.impl("superres_forward", forward_meta);
    library.impl("superres_adjoint", adjoint_meta);
    library.impl("superres_normal", normal_meta);
}

TORCH_LIBRARY_IMPL(iterscope, Autograd, library)
{
    library.impl("superres_forward", forward_autograd);
    library.impl("superres_adjoint", adjoint_autograd);
    library.impl("superres_normal", normal_autograd);
}

}  // namespace iterscope::operators
