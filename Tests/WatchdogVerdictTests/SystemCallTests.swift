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
        "Anything else is not read",
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

    @Test("Every call that is said to take a descriptor exists")
    func descriptorCallsExist() {
        let names = Set((0..<500).compactMap(SystemCallNames.name(of:)))
        #expect(SystemCallNames.onDescriptor.subtracting(names) == [])
    }

    @Test("A descriptor is an int: the upper half of the register does not count, and -1 is none")
    func descriptorsAreInts() {
        #expect(SystemCall(number: 0, arguments: [0xffff_ffff_0000_0005]).descriptor == 5)
        #expect(SystemCall(number: 0, arguments: [0xffff_ffff]).descriptor == nil)
        #expect(SystemCall(number: 202, arguments: [5]).descriptor == nil)
    }
}
