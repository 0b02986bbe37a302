// SPDX-License-Identifier: Apache-2.0

import WatchdogVerdict

/// Advice about a finding, which is more specific than advice about the system call.
enum FindingAdvice {
    /// The advice as one paragraph; nil when the advice for the system call is just as good.
    static func sentence(for kind: Finding.Kind) -> String? {
        switch kind {
        case .nameLookup:
            "A name server decides how long getaddrinfo takes: by default 5 s for each server and attempt. Look names up "
                + "from a queue, or let the network library do it without blocking; then look at resolv.conf (timeout:, "
                + "attempts:) and at the name server."
        case .sqliteBusy:
            "Another connection holds the database's lock. Use one connection for each queue, write in short transactions, "
                + "set WAL mode so that readers do not block, and give sqlite3_busy_timeout less time than the allowance. "
                + "Never use the database on the main thread."
        case .sqliteWrite:
            "The database is written on the main thread. Move transactions to a queue and put many rows into one of them; "
                + "with WAL mode and synchronous=NORMAL a commit need not wait for the disk."
        case .dispatchSemaphore, .posixSemaphore, .dispatchGroup:
            "Nothing owns a semaphore or group, so the kernel cannot name a culprit: look at the other threads for who "
                + "should signal it and why that has not happened. If it is signaled from the main queue, this is a deadlock. "
                + "Do not wait on the main thread: use notify(), or async code."
        case .dispatchSync:
            "The main thread waits until a queue's other blocks are done. Use async and hand the result back to the main "
                + "queue; on a queue that the main thread must use synchronously, run only a few lines at a time."
        case .oneTimeInitialiser:
            "Another thread runs a one-time initializer (a global, a static let, dispatch_once). Keep I/O and locks out of "
                + "initializers, and never let one wait for the main thread."
        case .mainActorWork:
            "Code on the main actor runs on the main thread until it suspends. Move the work into a nonisolated async function "
                + "or another actor, and wait for it with await; never block inside a task."
        case .cooperativePoolFull:
            "Swift runs tasks on as many threads as there are CPUs, and none is added when one blocks. Do not block in tasks "
                + "(semaphores, locks held across I/O, synchronous reads): use async interfaces, or do blocking work on a "
                + "DispatchQueue or thread of its own."
        case .pythonGIL:
            "Another thread holds the interpreter's lock, mostly in an extension that computes without giving it back. Let the "
                + "extension release it, or move the computation to another process (multiprocessing, concurrent.futures)."
        case .pythonLock:
            "Python does not record who holds a lock. Use the with statement so that none is forgotten, give acquire(), get() and "
                + "wait() a timeout, and let workers hand results to the main loop instead of waiting for them there."
        case .pythonDeadlock:
            "Let all threads take their locks in the same order, hold one lock at a time, or give acquire() a timeout. Python "
                + "does not record who holds a lock: that it is a deadlock follows from every thread's waiting."
        case .javaDeadlock:
            "Let all threads take their locks in the same order, hold one lock at a time, or use tryLock() with a timeout."
        case .javaLock:
            "Give waits a timeout: tryLock(), get(), poll(), wait(). Hold locks for a few lines, not across I/O. Who has a lock of "
                + "java.util.concurrent, jstack -l PID shows while the program hangs: --enforce report keeps it alive."
        case .goroutinesWait:
            "A goroutine that waits is on no thread's stack. While the program hangs (--enforce report keeps it alive), "
                + "kill -QUIT PID prints all goroutines and ends it; /debug/pprof/goroutine?debug=2 of net/http/pprof prints "
                + "them without ending it."
        case .goroutineWait:
            "Look at the stacks under Goroutines for who should end the wait, and why that has not happened. Give waits a "
                + "limit (context.WithTimeout, SetDeadline, select with time.After), and close a channel when nobody sends any "
                + "more."
        case .goroutineDeadlock:
            "Let all goroutines take their locks in the same order, and hold one lock at a time. Go does not record who holds a "
                + "lock: that it is a deadlock follows from every goroutine's waiting. The stacks are under Goroutines."
        case .rustLock:
            "Rust does not record who holds a lock: look at the other threads for one inside the same lock. Hold locks for a few "
                + "lines, not across I/O or await, take several always in the same order, and use try_lock() on the main thread."
        case .channel, .future:
            "Nothing records who should send: look at the other threads for who has the other end, and at whether it still can. "
                + "If that is the main thread itself, it waits forever. Wait with a time limit (recv_timeout, wait_for), and drop "
                + "ends that are not used, so that the wait fails instead."
        case .conditionVariable:
            "Nobody holds a condition variable: somebody has to signal it, and has not. Check that the condition is changed "
                + "under the same mutex, that the signal cannot come before the wait, and that the signaling thread lives."
        case .readWriteLock:
            "Readers of a read-write lock are not recorded. Look for threads inside the same lock's critical section; do not "
                + "take it on the main thread while others hold it for long, and never upgrade a read lock to a write lock."
        case .barrier:
            "One of the barrier's threads has not arrived. Look at the others: one is missing, or was never started."
        case .allocatorLock:
            "malloc is not safe in signal handlers, nor in a child between fork and exec of a program with threads. Look at the "
                + "outer frames for a handler; write to a pipe there and do the work on the main loop."
        case .libraryLock:
            "Signal handlers may call only what signal-safety(7) lists, and a child between fork and exec of a program with "
                + "threads no more than that: look at the outer frames for a handler, and at the other threads for one inside "
                + "the same function."
        case .noOtherThread:
            "Only a signal handler could still end this wait. See whether this thread has taken the lock before, whether the "
                + "process was forked while a thread of its parent held it (fork copies only the thread that calls it), and "
                + "whether the thread that should wake it was never started, or has ended."
        case .repeatedSleep:
            "See what the loop around the sleep checks, and who should change that. Give the loop a limit, after which it "
                + "fails; better, wait for the event itself (a condition variable, poll, inotify, a pidfd), off the main thread."
        case .loader:
            "Loading a library runs its initializers and reads its file. Load libraries early and from a queue, and keep "
                + "initializers trivial."
        case .pageIn:
            "The main thread touched memory that was not there and waits for the disk. Look for a slow disk or too little "
                + "memory; read large files from a queue rather than through a mapping on the main thread."
        case .priorityInversion:
            "The thread that the main thread waits for gets no CPU because others are more urgent. Give the mutex "
                + "priority inheritance (PTHREAD_PRIO_INHERIT), raise that thread's priority while others wait for it, or do not "
                + "share locks and semaphores between threads of different priority."
        case .regularExpression:
            "Some patterns take time that doubles with every character. Avoid nested repetitions, bound the input, and match "
                + "from a queue."
        case .dispatchDeadlock:
            "Two threads each hold a queue the other waits for. Always take queues in the same order, do not call sync "
                + "from a block of another queue, and never from a block that somebody waits for."
        case .idleEventLoop:
            "Nothing runs on the main thread, so its stack is not the cause. Look for what should have woken it: a "
                + "continuation that is never resumed, a callback that was lost, a message that nobody sent, or an event loop "
                + "that does not watch the channel."
        case .databaseLock:
            "Another session holds the lock: pg_blocking_pids() and pg_locks say which. Keep transactions short, end idle ones "
                + "(idle_in_transaction_session_timeout), and set lock_timeout to less than the allowance."
        case .databaseAnswer:
            "The main thread waits for the database. Send queries from a queue or by the client's asynchronous interface, and "
                + "set a timeout in the server (statement_timeout) that is less than the allowance."
        case .embeddedScript:
            "While the script runs, the program does nothing else. Limit the run time of scripts, and split long ones so that the "
                + "main loop runs in between."
        case .garbageCollection:
            "The runtime looks for memory that is no longer used, and the program stands still meanwhile. See how large its "
                + "heap is and what keeps objects alive; allocate less between two answers, or give it more memory."
        case .otherThread:
            "The main thread is not the cause: look at the stack of the thread that is named, and at who should have ended its "
                + "work. Give workers a time limit, and let the main loop answer without them."
        case .otherProcess:
            "The main thread only waits: look at the stack of the process that is named, below Other Processes, and at what it "
                + "waits for. Set a time limit for what a wrapper starts, or run it without the wrapper (exec)."
        case .diskSync, .childProcess, .connecting: nil
        }
    }
}
