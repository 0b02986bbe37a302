// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogVerdict

@Suite("The waiting threads of a Java virtual machine")
struct JavaLockTests {
    private static let futex = "202 0x5561 0x189 0x0 0x0 0x0 0xffffffff 0x7fff8f62f510 0x7fc9148a3f16"
    private static let epoll = "232 0x5 0x7fff 0x400 0xffffffff 0x0 0x0 0x7fff8f62f510 0x7fc9148a3f16"
    private static let machine = BinaryImage(
        base: 0x7f43_7c00_0000, size: 1 << 24, buildID: nil, path: "/usr/lib/jvm/java-17/lib/server/libjvm.so",
        name: "libjvm.so",
        architecture: "x86_64")

    private static func thread(
        _ id: Int, _ name: String, _ calls: [String], syscall: String = futex, state: String = "S", java: [String] = []
    ) -> CapturedThread {
        let frames = calls.map { call in
            Frame(address: 0x1000, imageIndex: 0, imageOffset: 0x1000, symbol: call, symbolLocation: 4, trust: .cfi)
        }
        let compiled = java.map { call in
            Frame(
                address: 0x3000, imageIndex: 0, imageOffset: 0, symbol: call, symbolLocation: 0, language: .java,
                trust: .cfi)
        }
        return CapturedThread(id: id, name: name, state: state, syscall: syscall, frames: frames + compiled)
    }

    private static func finding(_ threads: [CapturedThread], images: [BinaryImage] = [machine]) -> Finding? {
        let capture = CapturedProcess(method: .ptrace, threads: threads, images: images)
        return JavaLock(in: capture, main: 1)?.finding
    }

    private static let enter = [
        "pthread_cond_timedwait", "os::PlatformEvent::park(long)", "ObjectMonitor::EnterI(JavaThread*)",
        "ObjectMonitor::enter(JavaThread*)", "InterpreterRuntime::monitorenter(JavaThread*, BasicObjectLock*)",
    ]
    private static let park = ["pthread_cond_wait", "Parker::park(bool, long)", "Unsafe_Park"]
    private static let launcher = thread(1, "java", ["__pthread_clockjoin_ex", "CallJavaMainInNewThread"])
    private static let main = thread(2, "java", enter + ["JavaMain"])
    private static let auditor = thread(20, "auditor", enter + ["thread_native_entry(Thread*)"])
    private static let own = [
        thread(3, "GC Thread#0", ["PosixSemaphore::wait()", "GangWorker::run()"]),
        thread(4, "Finalizer", ["pthread_cond_wait", "ObjectMonitor::wait(long, bool, JavaThread*)"]),
        thread(5, "C2 CompilerThre", ["long_computation"], syscall: "running", state: "R"),
    ]
    private static let pool = thread(21, "pool-1-thread-1", park)
    private static let acceptor = thread(22, "http-Poller", ["epoll_wait"], syscall: epoll)

    @Test("Two threads that enter monitors are a probable deadlock, and both are named", arguments: [false, true])
    func deadlock(isServer: Bool) throws {
        let idle = isServer ? [Self.pool, Self.acceptor] : []
        let found = try #require(Self.finding([Self.launcher, Self.main, Self.auditor] + Self.own + idle))
        #expect(found.kind == .javaDeadlock)
        #expect(found.thread == 2)
        #expect(
            found.text
                == "Probably a deadlock: Java's main() in thread 2 \"java\" and thread 20 \"auditor\" wait for Java locks "
                + "(synchronized), and no other Java thread runs")
    }

    /// A thread that waits for another's lock, at a line of Bank.
    private static func waiter(
        _ id: Int, _ name: String, of owner: Int?, line: Int, main: Bool = false
    ) -> CapturedThread {
        var thread = Self.thread(id, name, enter + (main ? ["JavaMain"] : []), java: ["Bank.transfer"])
        thread.frames[thread.frames.count - 1].sourceFile = "Bank.java"
        thread.frames[thread.frames.count - 1].sourceLine = line
        thread.javaLockOwner = owner
        return thread
    }

    @Test("Threads that have each other's locks are a deadlock, whatever other threads do")
    func circle() throws {
        let running = Self.thread(40, "worker", ["compute"], syscall: "running", state: "R")
        let two = [Self.waiter(20, "auditor", of: 2, line: 7), Self.waiter(2, "java", of: 20, line: 9, main: true)]
        let found = try #require(Self.finding([Self.launcher, running] + two))
        #expect(found.kind == .javaDeadlock)
        #expect(
            found.text
                == "Deadlock: Java's main() in thread 2 \"java\", at Bank.transfer (Bank.java:9) and thread 20 \"auditor\", at "
                + "Bank.transfer (Bank.java:7) wait for each other's Java locks (synchronized)")
        let victims = [Self.waiter(30, "http-1", of: 20, line: 11), Self.waiter(31, "http-2", of: 30, line: 12)]
        let crowd = try #require(Self.finding([Self.launcher, running] + two + victims)?.text)
        #expect(crowd.hasSuffix(", and 2 other threads wait for theirs"))
        let chain = [Self.waiter(20, "auditor", of: nil, line: 7), Self.waiter(2, "java", of: 20, line: 9, main: true)]
        #expect(Self.finding([Self.launcher, running] + chain)?.kind == .javaLock)
    }

    @Test("Four threads in a circle are counted, and the first two named")
    func largeCircle() throws {
        let ring = (0..<4).map { Self.waiter(20 + $0, "worker", of: 20 + ($0 + 1) % 4, line: 7) }
        let text = try #require(Self.finding([Self.launcher] + ring)?.text)
        #expect(text.hasPrefix("Deadlock: thread 20 \"worker\", at Bank.transfer (Bank.java:7), thread 21 \"worker\""))
        #expect(text.contains(" and 2 more wait for each other's Java locks"))
    }

    @Test("The owner of a lock is named, with what it does")
    func owner() throws {
        var holder = Self.thread(
            30, "flusher", ["fsync"], syscall: "74 0x5 0x0 0x0 0x0 0x0 0x0 0x7fff 0x7fc9", java: ["Log.flush"])
        let main = Self.waiter(2, "java", of: 30, line: 9, main: true)
        let found = try #require(Self.finding([Self.launcher, main, holder]))
        #expect(
            found.text
                == "Java's main(), in thread 2 \"java\", waits for a Java lock (synchronized), in Bank.transfer (Bank.java:9), "
                + "which thread 30 \"flusher\" has while it is in fsync, in Log.flush")
        #expect(found.thread == 30)
        let idle = Self.thread(2, "java", Self.park + ["JavaMain"])
        let crowd = [Self.waiter(20, "http-1", of: 30, line: 7), Self.waiter(21, "http-2", of: 20, line: 8)]
        holder.syscall = "running"
        #expect(
            Self.finding([Self.launcher, idle, holder] + crowd)?.text
                == "2 threads wait for a Java lock (synchronized), in Bank.transfer (Bank.java:7), which thread 30 "
                + "\"flusher\" has while it runs, in Log.flush")
    }

    @Test("The method of the library in which the app waits is named")
    func libraryCall() throws {
        let library = ["jdk.internal.misc.Unsafe.park", "java.util.concurrent.ArrayBlockingQueue.take"]
        let calls = library + ["Shop.next", "Shop.main"]
        let main = Self.thread(2, "java", Self.park + ["JavaMain"], java: calls)
        #expect(
            Self.finding([Self.launcher, main])?.text
                == "Java's main(), in thread 2 \"java\", waits in ArrayBlockingQueue.take(), in Shop.next")
        let inner = ["java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await", "Shop.next"]
        let nested = Self.thread(2, "java", Self.park + ["JavaMain"], java: inner)
        #expect(Self.finding([Self.launcher, nested])?.text.contains("waits in ConditionObject.await()") == true)
    }

    @Test("Compiled functions are named with their threads")
    func names() throws {
        let threads = [2, 20].map { Self.thread($0, "worker", Self.enter, java: ["com.example.Bank.transfer"]) }
        let text = try #require(Self.finding([Self.launcher] + threads)?.text)
        #expect(text.contains("thread 2 \"worker\", at com.example.Bank.transfer and thread 20 \"worker\", at "))
    }

    @Test("There is no deadlock while a thread may still release a lock")
    func released() {
        let epochs = [
            Self.thread(30, "worker", ["compute"], syscall: "running", state: "R"),
            Self.thread(30, "worker", [], syscall: "running", state: "R"),
            Self.thread(30, "reader", ["read"], syscall: "0 0x5 0x7fff 0x400 0x0 0x0 0x0 0x7fff 0x7fc9"),
            Self.thread(30, "poller", ["pthread_cond_timedwait", "Parker::park(bool, long)", "Unsafe_Park"]),
        ]
        for last in epochs {
            let found = Self.finding([Self.launcher, Self.main, Self.auditor, last])
            #expect(found?.kind == .javaLock, "\(last)")
        }
        #expect(Self.finding([Self.launcher, Self.main])?.kind == .javaLock)
        #expect(Self.finding([Self.launcher, Self.auditor]) == nil)
    }

    @Test(
        "The wait of main() is described",
        arguments: [
            (enter, "waits for a Java lock (synchronized)"),
            (park, "waits for a lock, a queue or a task of java.util.concurrent"),
            (
                ["pthread_cond_wait", "ObjectMonitor::wait(long, bool, JavaThread*)", "JVM_MonitorWait"],
                "waits in Object.wait() until another thread calls notify()"
            ),
        ] as [([String], String)])
    func main(calls: [String], words: String) throws {
        let found = try #require(Self.finding([Self.launcher, Self.thread(2, "java", calls + ["JavaMain"])]))
        #expect(found.text == "Java's main(), in thread 2 \"java\", \(words)")
        #expect(found.thread == 2)
    }

    @Test("The only child that the virtual machine waits for is named", arguments: [1, 2])
    func child(count: Int) throws {
        let reapers = (0..<count).map { Self.thread(30 + $0, "process reaper", ["waitid"]) }
        let main = Self.thread(2, "java", ["pthread_cond_wait", "ObjectMonitor::wait", "JVM_MonitorWait", "JavaMain"])
        let capture = CapturedProcess(
            method: .ptrace, threads: [Self.launcher, main] + reapers, images: [Self.machine])
        let waits = reapers.map {
            WaitDetails(
                process: 1, thread: $0.id, name: $0.name, syscall: "", subject: "child",
                holder: .init(relation: .child, process: 50 + $0.id, name: "sleep"), sources: [])
        }
        let found = try #require(JavaLock(in: capture, main: 1, besides: waits)?.finding)
        let words = ", probably for the end of its child 80 \"sleep\" (Process.waitFor())"
        #expect(found.text.hasSuffix(words) == (count == 1))
        #expect(found.processes == (count == 1 ? [80] : nil))
    }

    @Test("A returned main(), a timed wait and another program's functions yield no finding")
    func nothing() {
        let returned = Self.thread(2, "java", ["pthread_cond_wait", "jni_DestroyJavaVM", "JavaMain"])
        let patient = Self.thread(
            2, "java", ["pthread_cond_timedwait", "Parker::park(bool, long)", "Unsafe_Park", "JavaMain"])
        for main in [returned, patient] { #expect(Self.finding([Self.launcher, main]) == nil) }
        #expect(Self.finding([Self.launcher, Self.main, Self.auditor], images: []) == nil)
    }
}
