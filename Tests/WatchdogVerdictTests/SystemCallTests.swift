// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("System calls")
struct SystemCallTests {
    @Test("A thread in a system call shows its number and arguments")
    func insideACall() throws {
        let text = "0 0x3 0x7fcf9cd93000 0x20000 0x7fcf9ce26b60 0xffffffff 0x0 0x7fff1a2d1ee8 0x7fcf9cf0f2ad\n"
        guard case .inside(let call) = SystemCall.position(in: text) else {
            Issue.record("not read")
            return
        }
        #expect(call.name == "read")
        #expect(call.descriptor == 3)
        #expect(call.arguments == [3, 0x7fcf_9cd9_3000, 0x20000, 0x7fcf_9ce2_6b60, 0xffff_ffff, 0])
    }

    @Test("A running thread and one in a page fault are in no call")
    func outsideACall() {
        #expect(SystemCall.position(in: "running\n") == .running)
        #expect(SystemCall.position(in: "-1 0x7fff1a2d1ee8 0x7fcf9cf0f2ad") == .outside)
    }

    @Test(
        "Any other text is rejected",
        arguments: [
            "", "0", "running 1", "read 0x3", "0 0x3", "-2 0x0 0x0", "0 3 4 5 6 7 8 9 10",
            "0 0x3 0x4 0x5 0x6 0x7 0x8 0x9 0x", "0 0x3 0x4 0x5 0x6 0x7 0x8 0x9 0x10000000000000000",
            "99999999999999999999 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0", String(repeating: "0 ", count: 1_000),
        ]
    )
    func garbageIsNotRead(text: String) {
        #expect(SystemCall.position(in: text) == nil)
    }

    @Test(
        "Names follow the kernel's table",
        arguments: [
            (0, "read"), (7, "poll"), (35, "nanosleep"), (45, "recvfrom"), (61, "wait4"), (73, "flock"), (74, "fsync"),
            (101, "ptrace"), (202, "futex"), (219, "restart_syscall"), (230, "clock_nanosleep"), (232, "epoll_wait"),
            (270, "pselect6"), (281, "epoll_pwait"), (334, "rseq"), (424, "pidfd_send_signal"), (435, "clone3"),
            (449, "futex_waitv"), (451, "cachestat"), (455, "futex_wait"), (462, "mseal"),
        ]
    )
    func namesFollowTheTable(number: Int, name: String) {
        #expect(SystemCallNames.name(of: number) == name)
    }

    @Test("Numbers beyond the table and in its gap have no name", arguments: [-1, 336, 400, 423, 470, .max])
    func unknownNumbersHaveNoName(number: Int) {
        #expect(SystemCallNames.name(of: number) == nil)
    }

    @Test("Every call in the list of descriptor calls exists")
    func descriptorCallsExist() {
        let names = Set((0..<500).compactMap(SystemCallNames.name(of:)))
        #expect(SystemCallNames.onDescriptor.subtracting(names) == [])
    }

    @Test("A descriptor is an int: the upper half of the register does not count, and -1 means none")
    func descriptorsAreInts() {
        #expect(SystemCall(number: 0, arguments: [0xffff_ffff_0000_0005]).descriptor == 5)
        #expect(SystemCall(number: 0, arguments: [0xffff_ffff]).descriptor == nil)
        #expect(SystemCall(number: 202, arguments: [5]).descriptor == nil)
    }

    @Test(
        "A 32-bit program has different numbers, and the same names",
        arguments: [
            (0, "restart_syscall"), (3, "read"), (7, "wait4"), (29, "pause"), (72, "rt_sigsuspend"), (82, "old_select"),
            (140, "lseek"), (142, "select"), (162, "nanosleep"), (168, "poll"), (180, "pread64"), (190, "vfork"),
            (197, "fstat"), (221, "fcntl"), (240, "futex"), (252, "exit_group"), (256, "epoll_wait"), (271, "utimes"),
            (371, "recvfrom"), (386, "rseq"), (407, "clock_nanosleep"), (413, "pselect6"), (414, "ppoll"),
            (422, "futex"), (424, "pidfd_send_signal"), (449, "futex_waitv"),
        ])
    func of32Bits(number: Int, name: String) {
        let text = "\(number) 0x4 0x0 0x0 0x0 0x0 0x0 0xffc81b2c 0xf7f2e559"
        #expect(SystemCall.blocking(text)?.name == name)
    }

    @Test("A 64-bit program below 4 GiB keeps its numbers, because its stack is elsewhere")
    func below4GiB() {
        #expect(SystemCall.blocking("29 0x4 0x0 0x0 0x0 0x0 0x0 0x7ffc12345678 0x401136")?.name == "shmget")
        #expect(SystemCall.blocking("29 0x4 0x0 0x0 0x0 0x0 0x0 0xffffffff 0xffffffff")?.name == "pause")
        #expect(SystemCall.blocking("29 0x4 0x0 0x0 0x0 0x0 0x0 0x100000000 0xffffffff")?.name == "shmget")
        #expect(SystemCall.blocking("29 0x4 0x0 0x0 0x0 0x0 0x0 0xffffffff 0x100000000")?.name == "shmget")
    }

    @Test("Numbers that are impossible for a 32-bit program have no name", arguments: [222, 251, 415, 470])
    func unknownOf32Bits(number: Int) {
        #expect(SystemCallNames.name(of32Bit: number) == nil)
    }

    @Test("The call within socketcall and ipc is named; its arguments are in memory, so it has no descriptor")
    func multiplexed() {
        let socket = { SystemCall(number: 102, arguments: [$0, 0xffc8_1b2c], isOf32Bits: true) }
        #expect(socket(12).name == "recvfrom" && socket(12).descriptor == nil)
        #expect(socket(3).name == "connect" && socket(99).name == "socketcall" && socket(.max).name == "socketcall")
        #expect(SystemCall(number: 117, arguments: [0x1_000c], isOf32Bits: true).name == "msgrcv")
        #expect(SystemCall(number: 371, arguments: [7], isOf32Bits: true).descriptor == 7)
        #expect(SystemCall(number: 3, arguments: [5], isOf32Bits: true).descriptor == 5)
    }
}
