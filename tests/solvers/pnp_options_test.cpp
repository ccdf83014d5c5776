#include <iterscope/solvers/pnp_options.hpp>

#include <gtest/gtest.h>

#include <iterscope/error.hpp>

namespace iterscope {
namespace {

TEST(PnPOptions, DefaultsAreGood) { EXPECT_NO_THROW(check(PnPOptions{})); }

TEST(PnPOptions, WhatIsForSeveralRanksOrCompilationIsRefused)
{
    PnPOptions options;
    options.distribute_physics = true;
    EXPECT_THROW(check(options), ConfigError);
    options = {};
    options.distribute_denoiser = true;
    EXPECT_THROW(check(options), ConfigError);
    options = {};
    options.compile = "post";
    EXPECT_THROW(check(options), ConfigError);
}

TEST(PnPOptions, MessagesNameTheParameterAndTheCure)
{
    PnPOptions options;
    options.step_size_scale = 0;
    try {
        check(options);
        FAIL() << "nothing was thrown";
    } catch (const ConfigError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("step_size_scale"), std::string::npos) << text;
        EXPECT_NE(text.find("must be above 0"), std::string::npos) << text;
    }
}

TEST(PnPOptions, NamesAreParsed)
{
    EXPECT_EQ(parse_init_method("zeros"), InitMethod::zeros);
    EXPECT_EQ(parse_norm_strategy("dynamic"), NormStrategy::dynamic);
    EXPECT_THROW(parse_init_method("Zeros"), ConfigError);
    EXPECT_THROW(parse_norm_strategy(""), ConfigError);
}

}  // namespace
}  // namespace iterscope
