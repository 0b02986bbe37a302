// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization
import WatchdogBase

/// The process that clones the programs that watchdogd starts; it exits when this object is released.
///
/// The programs become children of the thread that started the launcher.
///
/// Isolation: may be shared between threads.
public final class LauncherProcess: Sendable {
    /// The launcher's process; a child of this one.
    public let process: Pidfd
    private let socket: OwnedDescriptor

    /// The outcome of sending a request.
    enum Sending {
        /// The launcher will read it.
        case sent
        /// The launcher must read earlier requests first.
        case full
        /// The launcher is gone.
        case closed
    }

    /// Starts a launcher, preferably early, while this process is small and has one thread.
    ///
    /// Programs get the limits, the scheduling policy and the nice value that this process had when it started its
    /// first launcher.
    ///
    /// - Parameter precedence: Whether the launcher itself runs at real-time priority, if permitted.
    public init(precedence: Bool) throws(LinuxError) {
        var pid: pid_t = 0
        socket = OwnedDescriptor(taking: try check("start the launcher") { wd_launcher_start(precedence, &pid) })
        process = try Pidfd(opening: pid)
    }

    /// Has the programs of the next launcher see their monotonic and boot-time clocks ahead: time_namespaces(7).
    ///
    /// That launcher must be started before this process has a second thread, and needs `CAP_SYS_ADMIN`.
    ///
    /// - Parameter lead: whole seconds; less than a second is dropped.
    public static func leadClocks(by lead: Duration) { wd_launcher_lead_clocks(lead.components.seconds) }

    /// Kills the launcher, whose programs go on, and reaps it; nothing can be launched afterwards.
    ///
    /// It would exit by itself, but later than this process: as a child of whoever reaps orphans.
    public func end() { process.end(by: .now()) }

    func send(_ request: wd_launcher_request, _ descriptors: [Int32]) throws(LinuxError) -> Sending {
        var request = request
        guard wd_launcher_send(socket.number, &request, descriptors, descriptors.count) != 0 else { return .sent }
        switch Errno.current {
        case .wouldBlock, .tooManyReferences: return .full
        case .brokenPipe, .connectionReset: return .closed
        case let error: throw LinuxError("send a request to the launcher", error)
        }
    }

    /// Waits until it may be worth retrying a request that was ``Sending/full``.
    func waitForRoom(limit: Duration) {
        // ETOOMANYREFS counts all sockets of the user: it can occur although this socket is writable.
        poll(nil, 0, 1)
        var entry = pollfd(fd: socket.number, events: Int16(POLLOUT), revents: 0)
        poll(&entry, 1, Int32(clamping: max(limit.nanoseconds / 1_000_000, 0)))
    }
}

extension LauncherProcess {
    private static let current = Mutex<LauncherProcess?>(nil)

    /// The launcher of ``spawn(_:)``.
    ///
    /// Its programs are children of a dedicated thread, so code that reaps the main thread's orphans leaves them alone.
    static func shared(insteadOf gone: LauncherProcess? = nil) throws(LinuxError) -> LauncherProcess {
        try current.withLock { current throws(LinuxError) in
            if let running = current, running !== gone { return running }
            let started = try onOwnThread()
            if current == nil { atexit { LauncherProcess.endShared() } }
            current = started
            return started
        }
    }

    /// Ends the shared launcher, and waits until it is reaped, by its thread or here.
    ///
    /// It would exit by itself, but as a child of the machine's or the container's first process, which may reap nothing.
    private static func endShared() {
        // exit(3) does not wait for a thread that is just starting one.
        guard let launcher = current.withLockIfAvailable({ $0 }) ?? nil else { return }
        launcher.end()
    }

    private static func onOwnThread() throws(LinuxError) -> LauncherProcess {
        let place = Mutex<Result<LauncherProcess, LinuxError>?>(nil)
        let started = try OwnedDescriptor.pipe()
        try WorkerThread.start {
            let process = start(into: place)
            write(started.write.number, "x", 1)
            // Keep the parent thread alive as long as the launcher, so that the launcher's programs stay its children.
            guard let process else { return }
            var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
            while poll(&entry, 1, -1) < 0, Errno.current == .interrupted {}
            _ = try? process.waitExit()
        }.detach()
        var byte: UInt8 = 0
        while read(started.read.number, &byte, 1) < 0, Errno.current == .interrupted {}
        guard let result = place.withLock({ $0.take() }) else { throw LinuxError("start the launcher", .noChild) }
        return try result.get()
    }

    private static func start(into place: borrowing Mutex<Result<LauncherProcess, LinuxError>?>) -> Pidfd? {
        do throws(LinuxError) {
            let launcher = try LauncherProcess(precedence: false)
            place.withLock { $0 = .success(launcher) }
            return launcher.process
        } catch {
            place.withLock { $0 = .failure(error) }
            return nil
        }
    }
}
