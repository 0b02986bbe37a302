// SPDX-License-Identifier: Apache-2.0

import WatchdogReport
import WatchdogVerdict

extension Causes {
    /// A Go program whose goroutines take two locks in opposite order.
    static var goroutines: Report {
        let futex = "202 0x84e3c8 0x80 0x0 0x0 0x0 0x0 0x7fff8f62f510 0x467803"
        let facts = facts(number: 33, of: "bank", in: futex, at: "0x84e3c8")
        var capture = Samples.capture
        capture.threads[0].syscall = futex
        capture.threads[0].frames = frames(["runtime.futex.abi0", "runtime.stopm", "runtime.findRunnable"])
        capture.threads[1].syscall = futex
        capture.threads[1].frames = capture.threads[0].frames
        let lock = ["runtime.gopark", "runtime.semacquire1", "sync.(*Mutex).Lock", "main.transfer"]
        capture.goroutines = CapturedGoroutines(
            version: "go1.22.10", count: 9,
            shown: [
                CapturedGoroutine(
                    id: 1, state: "sync.Mutex.Lock", waitNanoseconds: 121_000_000_000,
                    frames: frames(lock + ["main.main", "runtime.main"])),
                CapturedGoroutine(
                    id: 20, state: "sync.Mutex.Lock", frames: frames(lock + ["main.main.func1", "runtime.goexit.abi0"])),
                CapturedGoroutine(
                    id: 21, state: "chan <receive>\u{1b}", others: [22, 23],
                    frames: frames(["runtime.gopark", "runtime.chanrecv1", "main.worker", "runtime.goexit.abi0"])),
                CapturedGoroutine(
                    id: 24, state: "IO wait", descriptors: [7],
                    frames: frames(["runtime.gopark", "internal/poll.(*FD).Accept", "main.serve"])),
            ])
        return Report(of: facts, on: Samples.host, capture: capture)
    }

    private static func frames(_ names: [String]) -> [Frame] {
        names.enumerated().map { number, name in
            Frame(
                address: 0x5581_0000_4000 + UInt64(number), imageIndex: 0, imageOffset: 0x4000 + UInt64(number),
                symbol: name, symbolLocation: 33,
                sourceFile: name.hasPrefix("main.") ? "/src/bank/bank.go" : "/usr/lib/go/src/runtime/proc.go",
                sourceLine: 10 + number, trust: number == 0 ? .registers : .cfi)
        }
    }
}
