// SPDX-License-Identifier: Apache-2.0
//
// A main thread that waits for a semaphore below closures and methods, and thirty named threads that do the same.
import Dispatch
import Glibc

let never = DispatchSemaphore(value: 0)
let started = DispatchSemaphore(value: 0)

protocol Worker {
    func work(on item: Int) -> Int
}

struct Waiter: Worker {
    @inline(never)
    func work(on item: Int) -> Int {
        started.signal()
        never.wait()
        return item &* 3
    }
}

final class Service {
    let worker: any Worker
    var total = 0

    init(worker: any Worker) {
        self.worker = worker
    }

    @inline(never)
    func run(depth: Int) -> Int {
        if depth > 0 { return run(depth: depth - 1) &+ total }
        return [depth + 1].map { item in perform(item) { worker.work(on: $0) } }.reduce(0, &+)
    }

    @inline(never)
    func perform(_ item: Int, _ body: (Int) -> Int) -> Int {
        body(item) &+ total
    }
}

/// pthread_setname_np(3) is a GNU extension, which Swift does not import.
func setName(_ name: String) {
    let descriptor = open("/proc/thread-self/comm", O_WRONLY)
    _ = name.withCString { write(descriptor, $0, strlen($0)) }
    close(descriptor)
}

@inline(never)
func startThread(_ number: Int) {
    var thread = pthread_t()
    let argument = UnsafeMutableRawPointer(bitPattern: number + 1)
    pthread_create(
        &thread, nil,
        { argument in
            let number = Int(bitPattern: argument) - 1
            setName("worker-\(number)")
            let service = Service(worker: Waiter())
            return UnsafeMutableRawPointer(bitPattern: service.run(depth: 2))
        }, argument)
}

let count = CommandLine.arguments.count > 1 ? Int(CommandLine.arguments[1]) ?? 30 : 30
for number in 0..<count { startThread(number) }
for _ in 0..<count { started.wait() }
write(1, "ready\n", 6)
exit(Int32(truncatingIfNeeded: Service(worker: Waiter()).run(depth: 3)))
