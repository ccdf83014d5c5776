#include "sinks/csv_format.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

namespace iterscope {
namespace {

std::string text_of(double value)
{
    std::string text;
    append_number(text, value);
    return text;
}

std::string field_of(std::string_view value)
{
    std::string text;
    append_field(text, value);
    return text;
}

TEST(CsvNumber, IsShortAndReadsBackExactly)
{
    EXPECT_EQ(text_of(0.004654), "0.004654");
    EXPECT_EQ(text_of(0.1 + 0.2), "0.30000000000000004");
    EXPECT_EQ(text_of(1e-9), "1e-09");
    EXPECT_EQ(text_of(3), "3");
    for (const double value : {12345678.901234567, 1.2766912345e13, 5e-324, 1e-9, -0.5,
                               std::numeric_limits<double>::max()}) {
        EXPECT_EQ(std::strtod(text_of(value).c_str(), nullptr), value);
    }
    EXPECT_EQ(text_of(std::numeric_limits<double>::infinity()), "inf");
    EXPECT_EQ(text_of(std::nan("")), "nan");
}

TEST(CsvNumber, RandomDoublesReadBackExactly)
{
    std::mt19937_64 random(0);
    for (int i = 0; i < 20000; ++i) {
        const double value = std::bit_cast<double>(random());
        if (std::isfinite(value)) {
            EXPECT_EQ(std::strtod(text_of(value).c_str(), nullptr), value);
        }
    }
}

TEST(CsvField, IsQuotedWhereItHasToBe)
{
    EXPECT_EQ(field_of("plain text"), "plain text");
    EXPECT_EQ(field_of("a,b"), "\"a,b\"");
    EXPECT_EQ(field_of("a \"q\""), "\"a \"\"q\"\"\"");
    EXPECT_EQ(field_of("a\nb"), "\"a\nb\"");
    EXPECT_EQ(field_of("a\rb"), "\"a\rb\"");
}

}  // namespace
}  // namespace iterscope
