// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
public import WatchdogBase

/// Processes that copy the memory of others for the threads of this one.
///
/// A page of another process may lie in a file system that never answers. The kernel lets nobody out of that wait, and a
/// process with such a thread cannot end. So a *copier* reads the page, and the thread that needs it waits for the copier's
/// answer, for at most ``patience``. A copier that does not answer is killed by the kernel if that is possible. Otherwise it
/// is left alone, and counts against the app and the user whose memory it reads until it has ended.
///
/// Isolation: may be used from any thread.
public final class Copiers: Sendable {
    /// How many copiers there may be that do not end.
    public static let limits = StuckWaits.Limits(app: 2, user: 4, all: 32)
    /// How long a page may take: longer than a busy disk, shorter than the budget of a capture.
    public static let patience = Duration.milliseconds(250)
    /// How long a copier may take to die from the kernel's kill before it counts as unkillable.
    private static let grace = Duration.milliseconds(50)
    /// How many copiers wait for the next capture: one of an app, and one of its other processes or a sampler.
    private static let spares = 2
    /// How many are kept while others are in use, as when many apps are launched at once: a fork takes longer than a read.
    private static let burst = 16

    private struct State {
        var idle: [OwnedDescriptor] = []
        /// How many are in use.
        var taken = 0
        /// How many bursts are expected to go on.
        var bursts = 0
        var stuck = StuckWaits()
        /// The sockets of the copiers that do not end, which the kernel closes when they do.
        var lost: [(socket: OwnedDescriptor, number: Int)] = []
    }

    /// Where copiers are requested; another one after the source was started again.
    private let origin: @Sendable () -> OwnedDescriptor?
    private let isDirect: Bool
    private let patience: Duration
    private let state = Locked(State())

    /// Has copiers forked by a source; without one, the calling threads read themselves and may wait forever.
    public convenience init(_ source: ExaminerSource?) { self.init { source?.descriptor } }

    convenience init(_ origin: OwnedDescriptor?, patience: Duration = Copiers.patience) {
        self.init(patience: patience) { origin }
    }

    init(patience: Duration = Copiers.patience, from origin: @escaping @Sendable () -> OwnedDescriptor?) {
        self.origin = origin
        isDirect = origin() == nil
        self.patience = patience
        // The first capture does not wait for a fork.
        guard let spare = makeCopier() else { return }
        state.withLock { $0.idle.append(spare) }
    }

    /// What a capture of a tenant's process reads with.
    ///
    /// - Parameter isBrief: whether it reads little, at a time at which others need the CPUs: no other copier is forked ahead,
    ///   and none computes while it waits for the next request.
    public func copying(for tenant: Tenant, isBrief: Bool = false) -> Copying {
        Copying(self, tenant, isDirect: isDirect, isBrief: isBrief)
    }

    /// Why no memory of a tenant's processes is read at the moment; nil if it is.
    public func refusal(of tenant: Tenant) -> StuckWaits.Refusal? {
        state.withLock { state in
            Self.removeEnded(from: &state)
            return state.stuck.refusal(of: tenant, within: Self.limits)
        }
    }

    /// The number of copiers that have not answered in time and have not ended.
    public var lostCount: Int {
        state.withLock { state in
            Self.removeEnded(from: &state)
            return state.stuck.count
        }
    }

    /// Whether a copier that reads memory of this user does not end.
    fileprivate func hasLost(to user: UInt32) -> Bool {
        state.withLock { state in
            Self.removeEnded(from: &state)
            return state.stuck.count(of: user) > 0
        }
    }

    /// A copier that nobody else uses; nil if there is none, or the tenant has too many that do not end.
    fileprivate func take(for tenant: Tenant, isBrief: Bool) -> OwnedDescriptor? {
        let (idle, isRefused): (OwnedDescriptor?, Bool) = state.withLock { state in
            Self.removeEnded(from: &state)
            guard state.stuck.refusal(of: tenant, within: Self.limits) == nil else { return (nil, true) }
            return (state.idle.popLast(), false)
        }
        guard !isRefused, let copier = idle ?? makeCopier() else { return nil }
        let isLast = state.withLock { state in
            state.taken += 1
            return state.idle.isEmpty
        }
        // While this one is used: the next capture does not wait for a fork either.
        if isLast, !isBrief, let spare = makeCopier() { state.withLock { $0.idle.append(spare) } }
        return copier
    }

    /// Takes back a copier that is no longer used.
    fileprivate func give(_ copier: OwnedDescriptor) {
        let surplus = state.withLock { state in
            state.taken -= 1
            state.idle.append(copier)
            return Self.takeSurplus(from: &state)
        }
        // They end when their sockets are closed, outside of the lock.
        withExtendedLifetime(surplus) {}
    }

    /// The copiers that nobody will need soon.
    private static func takeSurplus(from state: inout State) -> ArraySlice<OwnedDescriptor> {
        let surplus = max(0, state.idle.count - (state.taken + state.bursts == 0 ? spares : burst))
        defer { state.idle.removeFirst(surplus) }
        return state.idle.prefix(surplus)
    }

    /// Keeps copiers that are not used, as if others were, for as long as the result is retained.
    ///
    /// Between the captures of apps that hang together there are moments in which none is in use.
    public func keepBurst() -> CopierBurst {
        state.withLock { $0.bursts += 1 }
        return CopierBurst(self)
    }

    fileprivate func endBurst() {
        let surplus = state.withLock { state in
            state.bursts -= 1
            return Self.takeSurplus(from: &state)
        }
        withExtendedLifetime(surplus) {}
    }

    /// Whether the only copier in use may compute instead of waiting for requests: several would take the CPUs from each other.
    fileprivate var hasCPUs: Bool { state.withLock { $0.taken <= 1 } }

    /// Notes that a copier has died, or does not answer.
    ///
    /// - Parameter tenant: whose memory it does not get; nil if it has died.
    fileprivate func lose(_ copier: OwnedDescriptor, to tenant: Tenant?) {
        state.withLock { state in
            state.taken -= 1
            if let tenant { state.lost.append((copier, state.stuck.begin(for: tenant, at: .now()))) }
        }
    }

    fileprivate var limit: UInt32 { UInt32(clamping: patience.nanoseconds / 1_000_000) }

    private func makeCopier() -> OwnedDescriptor? {
        guard let origin = origin() else { return nil }
        var ends: [Int32] = [-1, -1]
        guard wd_socket_pair(&ends) == 0 else { return nil }
        let ours = OwnedDescriptor(taking: ends[0])
        let theirs = OwnedDescriptor(taking: ends[1])
        _ = wd_socket_refuse_descriptors(ours.number)
        let wait = UInt32(clamping: (patience + Self.grace).nanoseconds / 1_000_000)
        guard wd_copy_limit(ours.number, wait) == 0,
            wd_socket_send_with(origin.number, [ForkedReader.copier.rawValue], 1, [theirs.number], 1) == 0
        else { return nil }
        return ours
    }

    private static func removeEnded(from state: inout State) {
        state.idle.removeAll { hasEnded($0) }
        let ended = state.lost.filter { hasEnded($0.socket) }
        for copier in ended { state.stuck.end(copier.number) }
        state.lost.removeAll { copier in ended.contains { $0.number == copier.number } }
    }

    private static func hasEnded(_ copier: OwnedDescriptor) -> Bool {
        var entry = pollfd(fd: copier.number, events: 0, revents: 0)
        return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP) != 0
    }
}

/// A time in which copiers are kept: ``Copiers/keepBurst()``.
///
/// Isolation: may be used from any thread.
public final class CopierBurst: Sendable {
    private let copiers: Copiers

    fileprivate init(_ copiers: Copiers) { self.copiers = copiers }

    deinit { copiers.endBurst() }
}

/// Reads memory of one tenant's processes, with at most one copier at a time.
///
/// Isolation: may be used from any thread; one read at a time.
public final class Copying: Sendable {
    private let copiers: Copiers
    private let tenant: Tenant
    /// Whether the calling thread reads: there is no source of copiers.
    public let isDirect: Bool
    private let isBrief: Bool
    private let copier = Locked<OwnedDescriptor?>(nil)

    fileprivate init(_ copiers: Copiers, _ tenant: Tenant, isDirect: Bool, isBrief: Bool) {
        self.copiers = copiers
        self.tenant = tenant
        self.isDirect = isDirect
        self.isBrief = isBrief
    }

    deinit { release() }

    /// Lets others use the copier until the next read.
    public func release() {
        let released = copier.withLock { copier in
            defer { copier = nil }
            return copier
        }
        if let released { copiers.give(released) }
    }

    /// Why nothing is read at the moment; nil if it is.
    public var refusal: StuckWaits.Refusal? { copiers.refusal(of: tenant) }

    /// Whether to read only what is in memory, because an earlier read of memory of this user has not returned.
    public var isCareful: Bool { copiers.hasLost(to: tenant.user) }

    /// Copies ranges of a process's or a thread's memory into a buffer, one after the other, up to the first byte that cannot
    /// be read.
    ///
    /// - Parameters:
    ///   - process: the process or thread ID.
    ///   - file: an open `/proc/PID/mem` to read from instead; -1 for process_vm_readv(2).
    ///   - ranges: at most `WD_COPY_RANGES` values of type `iovec`, of at most `WD_COPY_BYTES` in all.
    ///   - count: the number of ranges.
    ///   - buffer: has room for all of them.
    /// - Returns: the number of bytes; -1 with the error in `errno`, which is `ETIMEDOUT` if a page did not answer, and
    ///   `EBUSY` if there is no copier.
    public func read(
        _ process: Int32, file: Int32, _ ranges: UnsafeRawPointer?, count: Int, into buffer: UnsafeMutableRawPointer?
    ) -> Int {
        let source = file >= 0 ? WD_COPY_MEMORY_FILE : WD_COPY_MEMORY
        let (length, error) = copy(source, process, file, ranges?.assumingMemoryBound(to: iovec.self), count, buffer)
        errno = error
        return length
    }

    private func copy(
        _ source: wd_copy_source, _ process: Int32, _ file: Int32, _ ranges: UnsafePointer<iovec>?, _ count: Int,
        _ buffer: UnsafeMutableRawPointer?
    ) -> (length: Int, errno: Int32) {
        let current = copier.withLock { copier in
            if copier == nil { copier = copiers.take(for: tenant, isBrief: isBrief) }
            return copier
        }
        guard let current else { return (-1, EBUSY) }
        let length = wd_copy(
            current.number, source, process, file, ranges, count, buffer, copiers.limit, !isBrief && copiers.hasCPUs)
        let error = length < 0 ? errno : 0
        guard error == ETIMEDOUT || error == EPIPE else { return (length, error) }
        copier.withLock { $0 = nil }
        // One that has died does not wait for anything anymore.
        copiers.lose(current, to: error == ETIMEDOUT ? tenant : nil)
        return (-1, ETIMEDOUT)
    }

    /// Bytes of a process's memory; nil unless all of them can be read.
    ///
    /// - Parameters:
    ///   - process: the process ID.
    ///   - address: where they begin.
    ///   - count: how many they are.
    public func memory(_ process: Int32, at address: UInt64, count: Int) -> [UInt8]? {
        guard !isDirect else {
            var bytes = [UInt8](repeating: 0, count: count)
            return wd_read_process_memory(process, address, &bytes, UInt(count)) == count ? bytes : nil
        }
        var bytes: [UInt8] = []
        while bytes.count < count {
            let wanted = min(WD_COPY_BYTES, count - bytes.count)
            let next = permitted(process, from: address &+ UInt64(bytes.count), count: wanted)
            guard let next, next.count == wanted else { return nil }
            bytes += next
        }
        return bytes
    }

    /// Yama may permit the memory to this process alone, and seccomp may refuse the call: then from a file that this process
    /// opens, which reads nothing.
    private func permitted(_ process: Int32, from address: UInt64, count: Int) -> [UInt8]? {
        let (bytes, error) = copied(WD_COPY_MEMORY, process, from: address, count: count)
        guard error == EPERM || error == ENOSYS else { return bytes }
        guard let file = try? OwnedDescriptor(opening: "/proc/\(process)/mem", flags: O_RDONLY) else { return nil }
        return copied(WD_COPY_MEMORY_FILE, process, from: address, count: count, file: file.number).bytes
    }

    /// The arguments of a process, as ``ProcessFacts/arguments(_:limit:)`` reads them.
    public func arguments(of process: Int32, limit: Int = 2 << 20) -> [ByteString] {
        if isDirect { return ProcessFacts.arguments(process, limit: limit) }
        return ProcessFacts.strings(in: file(WD_COPY_ARGUMENTS, of: process, limit: limit) ?? [])
    }

    /// The environment of a process, as ``ProcessFacts/environment(_:)`` reads it; releases the copier.
    public func environment(of process: Int32) -> Environment? {
        defer { release() }
        if isDirect { return ProcessFacts.environment(process) }
        return file(WD_COPY_ENVIRONMENT, of: process, limit: 2 << 20).map {
            Environment(entries: ProcessFacts.strings(in: $0))
        }
    }

    private func file(_ source: wd_copy_source, of process: Int32, limit: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let wanted = min(WD_COPY_BYTES, limit - bytes.count)
            guard let next = copied(source, process, from: UInt64(bytes.count), count: wanted).bytes else { return nil }
            if next.isEmpty { break }
            bytes += next
        }
        return bytes
    }

    private func copied(
        _ source: wd_copy_source, _ process: Int32, from start: UInt64, count: Int, file: Int32 = -1
    ) -> (bytes: [UInt8]?, errno: Int32) {
        var range = iovec(iov_base: UnsafeMutableRawPointer(bitPattern: UInt(start)), iov_len: count)
        var result = (length: -1, errno: Int32(0))
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            result = copy(source, process, file, &range, 1, buffer.baseAddress)
            initialized = max(result.length, 0)
        }
        return (result.length < 0 ? nil : bytes, result.errno)
    }
}
