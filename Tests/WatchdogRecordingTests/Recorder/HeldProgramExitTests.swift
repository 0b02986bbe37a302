// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import TestSupport
import Testing
import WatchdogLinux

@Suite("A program that waits before its execve(2), in a process with few descriptors")
struct HeldProgramExitTests {
    @Test("is not created without a descriptor for reaping it", arguments: 0...5)
    func noDescriptorLeft(room: Int) async {
        // In a separate process, because the limit applies to all of it.
        await #expect(processExitsWith: .success) { [room] in
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = 256
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var numbers: [Int32] = []
            while case let number = dup(0), number >= 0 { numbers.append(number) }
            for number in numbers.prefix(room) { close(number) }
            var child = wd_record_child()
            var arguments: [UnsafeMutablePointer<CChar>?] = [nil, strdup("true"), nil]
            var environment: [UnsafeMutablePointer<CChar>?] = [nil]
            let result = arguments.withUnsafeMutableBufferPointer { arguments in
                environment.withUnsafeMutableBufferPointer { environment -> Int32 in
                    guard let first = arguments.baseAddress, let variables = environment.baseAddress else { return -1 }
                    return wd_record_child_hold("/bin/true", first + 1, variables, false, -1, &child)
                }
            }
            for number in numbers.dropFirst(room) { close(number) }
            // It needs two pipes and the pidfd; the runtime may have closed one more.
            if room < 4 { #expect(result == -1) }
            if result == 0 {
                close(child.gate)
                close(child.status)
                Pidfd(pid: child.pid, descriptor: OwnedDescriptor(taking: child.pidfd)).reapWhenItExits()
            }
            #expect(eventually { Procfs.children(of: getpid()).isEmpty })
        }
    }
}
