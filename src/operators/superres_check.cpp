#include <c10/util/Exception.h>

#include "operators/real_tensor.hpp"
#include "operators/superres.hpp"

namespace iterscope::operators {

namespace {

void check_kernels(const at::Tensor& data, const at::Tensor& kernels, std::int64_t factor)
{
    TORCH_CHECK_VALUE(factor >= 1, "the factor is ", factor, "; it must be 1 or more.");
    TORCH_CHECK_VALUE(kernels.dim() == 3 && kernels.sym_numel() > 0, "the blur kernels have shape ",
                      kernels.sym_sizes(), "; give [frames, height, width], none of them 0.");
    TORCH_CHECK_TYPE(kernels.scalar_type() == data.scalar_type(), "the data is ",
                     data.scalar_type(), " and the blur kernels are ", kernels.scalar_type(),
                     " (operators compute in one precision); convert one of them.");
    TORCH_CHECK_VALUE(kernels.device() == data.device(), "the data is on ", data.device(),
                      " and the blur kernels are on ", kernels.device(), "; move one of them.");
}

}  // namespace

void check_superres_image(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor)
{
    check_real(x, "super-resolution");
    TORCH_CHECK_VALUE(x.dim() == 4, "super-resolution was given an image of shape ", x.sym_sizes(),
                      "; it takes [batch, channels, height, width].");
    TORCH_CHECK_VALUE(x.sym_size(2) > 0 && x.sym_size(3) > 0,
                      "super-resolution was given an empty image of shape ", x.sym_sizes(),
                      "; height and width must be 1 or more.");
    check_kernels(x, kernels, factor);
}

void check_superres_frames(const at::Tensor& frames, const at::Tensor& kernels, std::int64_t factor,
                           const c10::SymInt& height, const c10::SymInt& width)
{
    check_real(frames, "super-resolution");
    TORCH_CHECK_VALUE(frames.dim() == 5, "super-resolution's adjoint was given shape ",
                      frames.sym_sizes(), "; it takes [frames, batch, channels, height, width].");
    check_kernels(frames, kernels, factor);
    TORCH_CHECK_VALUE(height > 0 && width > 0, "the image is to be ", height, " x ", width,
                      "; both must be 1 or more.");
    TORCH_CHECK_VALUE(frames.sym_size(0) == kernels.sym_size(0), "there are ", frames.sym_size(0),
                      " frames and ", kernels.sym_size(0), " blur kernels; give one a frame.");
    TORCH_CHECK_VALUE(frames.sym_size(3) == (height + (factor - 1)) / factor &&
                          frames.sym_size(4) == (width + (factor - 1)) / factor,
                      "frames of ", frames.sym_size(3), " x ", frames.sym_size(4),
                      " do not belong to an image of ", height, " x ", width, " at factor ", factor,
                      "; a frame has ceil(size / factor) samples along each axis.");
}

}  // namespace iterscope::operators
