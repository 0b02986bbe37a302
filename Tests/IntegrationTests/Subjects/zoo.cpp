// SPDX-License-Identifier: Apache-2.0
//
// The part of the zoo of hangs that is written in C++20: hangs as its first argument says.

#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstring>
#include <latch>
#include <semaphore>

static std::latch loaded(1);
static std::barrier<> meeting(2);
static std::counting_semaphore<> slots(0);
static std::binary_semaphore turn(0);
static std::atomic<int> version(7);
static std::atomic<long> position(7);
static std::atomic_flag done;

[[gnu::noinline]] static void load_catalog(const char *how) {
    if (!std::strcmp(how, "latch")) loaded.wait();
    if (!std::strcmp(how, "barrier")) meeting.arrive_and_wait();
    if (!std::strcmp(how, "semaphore")) slots.acquire();
    if (!std::strcmp(how, "binary")) turn.acquire();
    if (!std::strcmp(how, "atomic")) version.wait(7);
    if (!std::strcmp(how, "wide")) position.wait(7);
    if (!std::strcmp(how, "flag")) done.wait(false);
    std::puts("not reached");
}

int main(int, char **arguments) {
    std::puts("ready");
    std::fflush(stdout);
    load_catalog(arguments[1]);
}
