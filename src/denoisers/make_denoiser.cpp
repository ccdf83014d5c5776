#include <iterscope/denoisers/make_denoiser.hpp>

#include <iterscope/error.hpp>

namespace iterscope {

std::shared_ptr<Denoiser> make_denoiser(const std::string& name, const TVOptions& tv)
{
    if (name == "tv") {
        return std::make_shared<TVDenoiser>(tv);
    }
    if (name == "drunet") {
        throw ConfigError(
            "the denoiser 'drunet' is not here yet (no learned weights ship with this version); "
            "use "
            "'tv', or hand over a Denoiser object of your own.");
    }
    throw ConfigError("unknown denoiser '" + name +
                      "'; use 'tv', or hand over a Denoiser object of your own.");
}

}  // namespace iterscope
