#include <c10/util/Exception.h>

#include "operators/real_tensor.hpp"
#include "operators/tv.hpp"

namespace iterscope::operators {

void check_difference_image(const at::Tensor& x)
{
    check_real(x, "total variation");
    TORCH_CHECK_VALUE(x.dim() == 4 || x.dim() == 5, "total variation was given shape ",
                      x.sym_sizes(),
                      "; it takes images [batch, channels, height, width] and volumes [batch, "
                      "channels, depth, height, width].");
}

void check_difference_field(const at::Tensor& u)
{
    check_real(u, "total variation");
    TORCH_CHECK_VALUE((u.dim() == 5 || u.dim() == 6) && u.sym_size(0) == u.dim() - 3,
                      "a field of differences was given as ", u.sym_sizes(),
                      "; it is [2, batch, channels, height, width] or [3, batch, channels, depth, "
                      "height, width].");
}

void check_tv(const at::Tensor& image, const at::Tensor& primal, const at::Tensor& dual,
              const at::Tensor& threshold, double tau, double rho, std::int64_t iterations,
              double tolerance)
{
    check_difference_image(image);
    check_difference_field(dual);
    for (const at::Tensor* other : {&primal, &dual, &threshold}) {
        TORCH_CHECK_TYPE(other->scalar_type() == image.scalar_type(), "the image is ",
                         image.scalar_type(), " and another argument of total variation is ",
                         other->scalar_type(), "; use one precision.");
        TORCH_CHECK_VALUE(other->device() == image.device(), "the image is on ", image.device(),
                          " and another argument of total variation is on ", other->device(),
                          "; move one of them.");
    }
    TORCH_CHECK_VALUE(
        primal.sym_sizes() == image.sym_sizes() && dual.sym_sizes().slice(1) == image.sym_sizes(),
        "primal ", primal.sym_sizes(), " and dual ", dual.sym_sizes(),
        " do not belong to an image ", image.sym_sizes(),
        "; give image.shape and [S, *image.shape].");
    TORCH_CHECK_VALUE(threshold.dim() == 1 && threshold.sym_size(0) == image.sym_size(0),
                      "there are thresholds ", threshold.sym_sizes(), " for a batch of ",
                      image.sym_size(0), "; give one an image.");
    TORCH_CHECK_VALUE(tau > 0 && rho > 0 && rho < 2 && iterations >= 0 && tolerance >= 0,
                      "total variation was given tau = ", tau, ", rho = ", rho,
                      ", iterations = ", iterations, ", tolerance = ", tolerance,
                      "; it takes tau > 0, 0 < rho < 2, iterations >= 0 and tolerance >= 0.");
}

}  // namespace iterscope::operators
