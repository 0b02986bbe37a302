// SPDX-License-Identifier: Apache-2.0

// usage: blocked THREADS
//
// A Swift program all of whose threads, main included, wait for semaphores that nobody signals.

import Dispatch
import Glibc

struct Record {
    var pid = getpid()
    var kind: Int32 = 2
    var monotonicNanoseconds: Int64 = 0
}

final class Worker: Sendable {
    private let started: DispatchSemaphore
    private let never = DispatchSemaphore(value: 0)

    init(started: DispatchSemaphore) {
        self.started = started
    }

    @inline(never)
    func run(depth: Int) -> Int {
        depth == 0 ? block() : run(depth: depth - 1) + depth
    }

    @inline(never)
    private func block() -> Int {
        started.signal()
        never.wait()
        return 1
    }
}

func startThread(_ worker: Worker) {
    var thread = pthread_t()
    let argument = Unmanaged.passRetained(worker).toOpaque()
    let error = pthread_create(
        &thread, nil,
        { argument in
            if let argument { _ = Unmanaged<Worker>.fromOpaque(argument).takeRetainedValue().run(depth: 4) }
            return nil
        }, argument)
    if error != 0 { exit(1) }
}

alarm(120)
let threads = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1
let started = DispatchSemaphore(value: 0)
for _ in 1..<max(1, threads) {
    startThread(Worker(started: started))
    started.wait()
}
var record = Record()
write(STDOUT_FILENO, &record, MemoryLayout<Record>.size)
_ = Worker(started: started).run(depth: 4)
