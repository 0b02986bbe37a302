// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogLinux

@testable import WatchdogRecording

@Suite("A refused perf event")
struct PerfRefusalTests {
    @Test(
        "is attributed to the seccomp filter only if there is one and the kernel has perf events",
        arguments: [EPERM, ENOSYS])
    func filter(number: Int32) {
        let error = LinuxError(PerfRefusal.opening, Errno(rawValue: number))
        let refusal = PerfRefusal(error, isWide: false, circumstances(paranoid: 2, isFiltered: true))
        #expect(
            refusal.reason == "\(error): a seccomp filter, as container engines install, refuses perf_event_open(2)")
        #expect(refusal.remedy == "run outside of the container, or allow it in the filter")
        let unfiltered = PerfRefusal(error, isWide: false, circumstances(paranoid: 2))
        #expect(unfiltered.reason == "\(error)")
        #expect(unfiltered.remedy == (number == EPERM ? "run as root" : "use a kernel with perf events and tracefs"))
    }

    @Test("ENOSYS from a kernel without perf events is not attributed to the filter")
    func noEvents() {
        let error = LinuxError(PerfRefusal.opening, Errno(rawValue: ENOSYS))
        let refusal = PerfRefusal(error, isWide: false, circumstances(paranoid: nil, isFiltered: true))
        #expect(refusal.reason == "\(error)")
        #expect(refusal.remedy == "use a kernel with perf events and tracefs")
    }

    @Test("is attributed to perf_event_paranoid only if its level forbids the event, with or without a filter")
    func paranoid() {
        let error = LinuxError(PerfRefusal.opening, .permissionDenied)
        for isFiltered in [false, true] {
            let refusal = PerfRefusal(error, isWide: false, circumstances(paranoid: 3, isFiltered: isFiltered))
            #expect(refusal.reason == "\(error): kernel.perf_event_paranoid is 3")
            #expect(refusal.remedy == "run as root, or set the sysctl kernel.perf_event_paranoid to 2")
        }
        let permitted = PerfRefusal(error, isWide: false, circumstances(paranoid: 2))
        #expect(permitted == PerfRefusal(error, isWide: false, circumstances(paranoid: nil)))
        #expect(permitted.reason == "\(error)")
        #expect(permitted.remedy == "run as root")
        let wide = PerfRefusal(error, isWide: true, circumstances(paranoid: 2))
        #expect(wide.reason == "\(error): kernel.perf_event_paranoid is 2")
        #expect(wide.remedy == "run as root", "2 would not suffice")
    }

    @Test("a tracepoint fails with EPERM because of the level")
    func tracepoint() {
        let error = LinuxError(PerfRefusal.opening, .notPermitted)
        let refusal = PerfRefusal(error, isWide: true, circumstances(paranoid: 2, isRoot: true))
        #expect(refusal.reason == "\(error): kernel.perf_event_paranoid is 2")
        #expect(refusal.remedy == "run as root with CAP_SYS_ADMIN")
    }

    @Test("other calls are attributed to neither, and a ring that is too large has its own remedy")
    func otherCalls() {
        let mounting = LinuxError("mount tracefs", .notPermitted)
        let refusal = PerfRefusal(mounting, isWide: true, circumstances(paranoid: 2, isFiltered: true))
        #expect(refusal.reason == "\(mounting)")
        #expect(refusal.remedy == "run as root")
        let mapping = LinuxError(PerfRefusal.mapping, .notPermitted)
        #expect(
            PerfRefusal(mapping, isWide: false, circumstances(paranoid: 3)).remedy
                == "run as root, or raise the sysctl kernel.perf_event_mlock_kb")
        let descriptors = LinuxError(PerfRefusal.opening, Errno(rawValue: EMFILE))
        #expect(
            PerfRefusal(descriptors, isWide: false, circumstances(paranoid: 2)).remedy
                == "raise the limit of open files (ulimit -n)")
    }

    @Test(
        "the status of a process shows whether it has a filter",
        arguments: [
            ("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n", true),
            ("Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t0\n", false),
            ("Seccomp:\t1\n", false), ("Seccomp_filters:\t2\n", false), ("Name:\tSeccomp:\t2\n", false), ("", false),
        ])
    func status(text: String, isFiltered: Bool) {
        #expect(PerfRefusal.Circumstances.isFiltered(status: text) == isFiltered)
    }

    private func circumstances(
        paranoid: Int?, isFiltered: Bool = false, isRoot: Bool = false
    ) -> PerfRefusal.Circumstances {
        PerfRefusal.Circumstances(paranoid: paranoid, isFiltered: isFiltered, isRoot: isRoot)
    }
}
