// SPDX-License-Identifier: Apache-2.0
//
// A main thread in a template's method in a namespace, called through a virtual function and a lambda.
#include <functional>
#include <string>
#include <unistd.h>

namespace shop {

struct Item {
    virtual ~Item() = default;
    virtual long price(const std::string &currency) = 0;
};

namespace detail {

template <typename Value, int Scale>
struct Box : Item {
    Value value{};

    __attribute__((noinline)) long wait(Value amount)
    {
        if (write(STDOUT_FILENO, "ready\n", 6) != 6)
            return 0;
        pause();
        return static_cast<long>(amount) * Scale;
    }

    __attribute__((noinline)) long price(const std::string &currency) override
    {
        return wait(value) + static_cast<long>(currency.size());
    }
};

}  // namespace detail

__attribute__((noinline)) long checkout(Item &item, const std::function<long(Item &)> &rule)
{
    return rule(item) + 1;
}

}  // namespace shop

int main()
{
    shop::detail::Box<double, 100> box;
    return static_cast<int>(shop::checkout(box, [](shop::Item &item) { return item.price("EUR") + 2; }));
}
