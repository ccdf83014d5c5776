#pragma once

#include <memory>
#include <string>

#include <iterscope/denoisers/tv_denoiser.hpp>

namespace iterscope {

/// The denoiser of that name: "tv" is a TVDenoiser with the options `tv`, by default of at most 100
/// inner iterations a call, each of which resumes the last. Throws ConfigError on other names,
/// "drunet" among them: its weights do not ship yet.
std::shared_ptr<Denoiser> make_denoiser(const std::string& name,
                                        const TVOptions& tv = {.max_iterations = 100});

}  // namespace iterscope
