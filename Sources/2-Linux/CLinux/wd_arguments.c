/* SPDX-License-Identifier: Apache-2.0
 *
 * Swift's CommandLine reads /proc/self/cmdline, and takes the program for one without arguments where /proc is not mounted.
 */

/* Swift's runtime, stdlib/public/stubs/CommandLine.cpp: CommandLine then has these. */
extern void _swift_stdlib_overrideUnsafeArgvArgc(char **arguments, int count) __attribute__((weak));

/* glibc passes the arguments of main to constructors: call_init(), elf/dl-init.c. */
__attribute__((constructor)) static void note_arguments(int count, char **arguments) {
    if (&_swift_stdlib_overrideUnsafeArgvArgc != 0) _swift_stdlib_overrideUnsafeArgvArgc(arguments, count);
}
