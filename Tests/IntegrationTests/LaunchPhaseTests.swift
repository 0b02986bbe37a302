// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogReport

extension EndToEnd {
    @Suite("The phases of a supervised launch")
    struct LaunchPhaseTests {
        /// Sleeps for `$SLOW` milliseconds in a constructor, and forever in `main`.
        private static let source = """
            #include <stdlib.h>
            #include <unistd.h>
            __attribute__((constructor)) static void slow(void) {
                const char *span = getenv("SLOW");
                if (span) usleep(atoi(span) * 1000);
            }
            int main(void) { for (;;) pause(); }
            """

        private func compiled(in scratch: Scratch) throws -> String {
            let source = try scratch.write(Self.source, to: "slow.c")
            let program = scratch["slow"]
            try DelayBed.compile([source], to: program)
            return program
        }

        private func launch(
            _ options: [String] = [], slow: Int? = nil, wrapper: [String] = []
        ) throws -> LaunchDetails {
            let scratch = try Scratch()
            let ending = try Supervision(
                ["--launch", "500ms", "--readiness", "notify"] + options, wrapper + [try compiled(in: scratch)],
                environment: slow.map { ["SLOW": "\($0)"] } ?? [:], scratch: scratch
            ).end()
            #expect(ending.exitCode == 137)
            return try #require(ending.reports.first?.body.linux?.launch)
        }

        /// Whether the kernel recorded the launch; a container may forbid it.
        private func isRecorded(_ launch: LaunchDetails) -> Bool {
            guard let reason = launch.unrecorded else { return true }
            #expect(!hasAllRights, "\(reason)")
            #expect(launch.phases.map(\.name) == ["exec", "ready"])
            print("skipped: \(reason)")
            return false
        }

        @Test("A program killed in a constructor is shown there")
        func constructor() throws {
            let launch = try launch(slow: 20_000)
            guard isRecorded(launch) else { return }
            let last = try #require(launch.phases.last)
            #expect(last.isOpen && last.nanoseconds > 400_000_000)
            #expect(launch.phases.prefix(3).map(\.name) == ["exec", "mapping", "relocation"])
            // If the breakpoints come after the entry, only the stack tells where the program is, and the constructors of
            // libraries are part of the phase.
            let later = launch.phases.dropFirst(3).map(\.name)
            #expect(later.filter { $0 != "library-constructors" } == ["own-constructors"])
            #expect(launch.lines.first?.contains("own constructors not finished in ") == true, "\(launch.lines)")
            let ending = try #require(last.ending)
            #expect(ending.hasPrefix("blocked ") && ending.contains("called by slow"), "\(ending)")
        }

        @Test("A program killed in main has finished its constructors")
        func main() throws {
            let launch = try launch(slow: 100)
            guard isRecorded(launch) else { return }
            // On a busy machine, the breakpoints may come after the entry, but not after 100 ms.
            #expect(
                launch.phases.map(\.name).filter { $0 != "library-constructors" }
                    == ["exec", "mapping", "relocation", "own-constructors", "ready"])
            let constructors = try #require(launch.phases.dropLast().last)
            #expect(constructors.nanoseconds > 99_000_000)
            // It slept, which does not count as running.
            #expect(try #require(constructors.blockedNanoseconds) > 99_000_000)
            // The phases have no gaps, and each describes its own thread.
            for (phase, next) in zip(launch.phases, launch.phases.dropFirst()) {
                #expect(phase.startNanoseconds + phase.nanoseconds == next.startNanoseconds)
            }
            for phase in launch.phases.dropFirst() {
                let parts = [phase.runningNanoseconds, phase.preemptedNanoseconds, phase.blockedNanoseconds]
                #expect(parts.compactMap(\.self).reduce(0, +) == phase.nanoseconds)
            }
        }

        @Test("A report says in what an earlier phase was blocked, and for how long")
        func earlier() throws {
            let launch = try launch(["--launch", "4s"], slow: 2_000)
            guard isRecorded(launch) else { return }
            let phase = try #require(launch.phases.first { $0.name == "own-constructors" })
            #expect(try #require(phase.blockedNanoseconds) > 1_900_000_000)
            let wait = try #require(phase.wait)
            #expect(wait.call.hasSuffix("nanosleep"))
            #expect(wait.caller?.hasPrefix("slow") == true)
            #expect(wait.samples > 0 && wait.samples <= wait.ofSamples)
            #expect(launch.lines.contains { $0.hasPrefix("Earlier phase: own constructors: blocked ") })
        }

        @Test("A wrapper's program counts from its own execve")
        func wrapped() throws {
            let launch = try launch(wrapper: ["/bin/sh", "-c", "sleep 0.1; exec \"$0\""])
            guard isRecorded(launch) else { return }
            #expect(launch.phases.first?.name == "exec")
            #expect(try #require(launch.phases.first).nanoseconds > 100_000_000)
            #expect(launch.phases.dropFirst().prefix(2).map(\.name) == ["mapping", "relocation"])
        }

        @Test("Without recording, only the app's own marks are known")
        func off() throws {
            let launch = try launch(["--no-record-launches"])
            #expect(launch.phases.map(\.name) == ["exec", "ready"])
            #expect(launch.unrecorded == nil)
        }
    }
}
