#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace iterscope::test {

/// Runs a test in an empty working directory of its own.
class RunFolder : public testing::Test {
protected:
    RunFolder() : before_(std::filesystem::current_path())
    {
        std::string name = (std::filesystem::temp_directory_path() / "iterscope-XXXXXX").string();
        folder = mkdtemp(name.data());
        std::filesystem::current_path(folder);
    }
    ~RunFolder() override
    {
        std::filesystem::current_path(before_);
        std::error_code ignored;
        std::filesystem::permissions(folder, std::filesystem::perms::owner_all, ignored);
        std::filesystem::remove_all(folder, ignored);
    }

    static std::string read(const std::filesystem::path& path)
    {
        std::ifstream in(path, std::ios::binary);
        std::stringstream text;
        text << in.rdbuf();
        return text.str();
    }
    /// Names in `outputs/`, sorted.
    std::vector<std::string> outputs() const
    {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(folder / "outputs")) {
            names.push_back(entry.path().filename().string());
        }
        std::ranges::sort(names);
        return names;
    }

    std::filesystem::path folder;

private:
    std::filesystem::path before_;
};

}  // namespace iterscope::test
