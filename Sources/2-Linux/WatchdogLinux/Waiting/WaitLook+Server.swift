// SPDX-License-Identifier: Apache-2.0

import CLinux
public import WatchdogBase

extension WaitLook {
    /// How many processes of an app are searched for a socket.
    private static let searched = 1_024

    /// The process of the app that should answer a connection: the one that has accepted it, or else the one that listens and
    /// is kept from accepting it.
    ///
    /// Nobody is to blame for what several idle processes listen for. A parent of others that have the same socket is a
    /// master, which leaves connections to them.
    ///
    /// - Parameters:
    ///   - connection: the connection.
    ///   - main: the app's main process, in whose namespace the address is.
    ///   - preferred: who is meant if several may be; nil for the one with the lowest ID.
    /// - Returns: nil if no process of the app is known to be meant.
    public func server(
        of connection: UnansweredConnection, main: Int32, preferring preferred: Int32?
    ) -> ServingProcess? {
        let members = familyStats()
        if let accepted = connection.accepted {
            let file = OpenFiles.File.socket(UInt64(accepted))
            let holders = holders(of: [UInt64(accepted)], among: members)
            return likeliest(holders, with: file, preferring: preferred)?.serving(hasAccepted: true)
        }
        let listening = budget.useReserve { _ in ListeningSocket.all(on: connection.address, inNamespaceOf: main) }
        let holders = holders(of: listening, among: members)
        guard let found = likeliest(holders, with: nil, preferring: preferred), found.isHeldUp else { return nil }
        return found.serving(hasAccepted: false)
    }

    /// The process of the app that should answer a command that probes it: the one whose reply the command, or a process that it
    /// has started, waits for over a connection, or else the one that listens and is kept from accepting it.
    ///
    /// - Parameters:
    ///   - command: the first process of the command.
    ///   - preferred: who is meant if several may be; nil for the one with the lowest ID.
    /// - Returns: nil if no process of the app is known to be meant.
    public func server(askedBy command: Int32, preferring preferred: Int32?) -> ServingProcess? {
        guard let rights = TraceRights(command) else { return nil }
        let look = readingMemory(of: rights.users[1])
        let members = familyStats()
        let ids = Set(members.map(\.id))
        let files = OpenFiles()
        for process in Procfs.withDescendants([command], limit: Self.processesOfCommand) {
            for thread in Procfs.threads(of: process).prefix(Self.threadsOfCommand) {
                guard !budget.isSpent else { return nil }
                let place = Place(process: process, thread: thread)
                guard let exit = look.exit(from: place, files), ids.contains(exit.process) else { continue }
                return server(at: exit, among: members, preferring: preferred)
            }
        }
        return nil
    }

    /// How many processes of a command are looked at.
    private static let processesOfCommand = 32
    /// How many threads of each.
    private static let threadsOfCommand = 16

    private func server(at exit: Exit, among members: [ProcessStat], preferring preferred: Int32?) -> ServingProcess? {
        guard [.reply, .room, .acceptance].contains(exit.link) else { return nil }
        let hasAccepted = exit.link != .acceptance
        var sockets: Set<UInt64> = []
        if case .socket(let inode)? = exit.file {
            sockets = [inode]
        } else if !hasAccepted {
            // A Unix socket leads to who called listen(2), which may have left the socket to others.
            sockets = Set(DescriptorTable.sockets(of: exit.process).filter(Self.isListening).map { UInt64($0) })
        }
        let holders = holders(of: sockets, among: members)
        guard let found = likeliest(holders, with: hasAccepted ? exit.file : nil, preferring: preferred),
            hasAccepted || found.isHeldUp
        else { return nil }
        return found.serving(hasAccepted: hasAccepted)
    }

    private static func isListening(_ inode: UInt32) -> Bool {
        var socket = wd_unix_socket()
        return wd_unix_socket_query(inode, &socket) == 0 && socket.is_listening
    }

    private struct Candidate {
        let stat: ProcessStat
        /// Its thread that is the likeliest to be meant.
        let thread: Int32
        /// How surely it is the one that does not answer.
        var rank: Int
        /// Whether it does something else than to wait for clients.
        var isHeldUp: Bool { rank > 1 }

        func serving(hasAccepted: Bool) -> ServingProcess {
            ServingProcess(id: stat.id, startTime: stat.startTime, thread: thread, hasAccepted: hasAccepted)
        }
    }

    private func familyStats() -> [ProcessStat] {
        family().prefix(Self.searched).compactMap { ProcessStat.read($0) }
    }

    private func holders(of sockets: Set<UInt64>, among members: [ProcessStat]) -> [ProcessStat] {
        guard !sockets.isEmpty else { return [] }
        return budget.useReserve { left in
            members.filter { member in
                !left.isSpent && DescriptorTable.sockets(of: member.id).contains { sockets.contains(UInt64($0)) }
            }
        }
    }

    private func likeliest(
        _ holders: [ProcessStat], with file: OpenFiles.File?, preferring preferred: Int32?
    ) -> Candidate? {
        let ids = Set(holders.map(\.id))
        let parents = Set(holders.map(\.parent)).intersection(ids)
        let files = OpenFiles()
        var candidates: [Candidate] = []
        for stat in holders.sorted(by: { $0.id < $1.id }) where !budget.isSpent {
            candidates.append(candidate(stat, file, files, isMaster: parents.contains(stat.id)))
        }
        // Who waits for another one of them is held up by that one.
        for index in candidates.indices where candidates[index].rank == 2 {
            let id = candidates[index].stat.id
            guard let holder = holder(awaitedBy: id), holder != id, ids.contains(holder) else { continue }
            candidates[index].rank = 1
        }
        let best = candidates.map(\.rank).max()
        let equal = candidates.filter { $0.rank == best }
        return equal.first { $0.stat.id == preferred } ?? equal.first
    }

    /// A process with the thread on which its answer depends.
    ///
    /// The rank is 3 for a process that is stopped, computes or sleeps uninterruptibly, 2 for one that waits for something else
    /// than clients, 1 for one that waits for them, 0 for one that leaves them to others.
    private func candidate(
        _ stat: ProcessStat, _ file: OpenFiles.File?, _ files: OpenFiles, isMaster: Bool
    ) -> Candidate {
        func candidate(_ rank: Int, _ thread: Int32? = nil) -> Candidate {
            Candidate(stat: stat, thread: thread ?? stat.id, rank: rank)
        }
        guard stat.state != .zombie, stat.state != .dead else { return candidate(-1) }
        if isMaster {
            let isAsleep = stat.state == .sleeping
            let text = isAsleep ? Self.syscall(Place(process: stat.id, thread: stat.id)) : nil
            // Masters wait for children, signals, events or a time.
            guard let call = text.flatMap({ BlockedCall(parsing: $0) }) else { return candidate(isAsleep ? 0 : 2) }
            let isWorking = [WD_CALL_FLOCK, WD_CALL_FCNTL, WD_CALL_CONNECT, WD_CALL_SEND].contains(call.kind)
            return candidate(isWorking ? 2 : 0)
        }
        // A signal stops all threads.
        if stat.state == .stopped || stat.state == .traced { return candidate(3) }
        let thread = thread(of: stat.id, with: file, files)
        // What a thread other than the first one does counts only if it may serve somebody.
        return switch rank(of: thread, stat.id, file, files) {
        case .runs: candidate(3, thread)
        case .waits, .usesFile: candidate(2, thread)
        case .waitsForSignal, .sleeps: candidate(2)
        case .waitsForWork, .isIdle: candidate(1)
        case .isGone: candidate(-1)
        }
    }

    private func holder(awaitedBy process: Int32) -> Int32? {
        let place = Place(process: process, thread: process)
        return Self.syscall(place).flatMap { BlockedCall(parsing: $0) }.flatMap { find($0, at: place).holder?.process }
    }
}

/// The process of an app that should answer a connection, and its thread.
public struct ServingProcess: Hashable, Sendable {
    /// The process ID.
    public let id: Int32
    /// When it was created, in clock ticks since boot.
    public let startTime: UInt64
    /// The ID of the thread on which the answer depends; that of the process for its first one.
    public let thread: Int32
    /// Whether it has accepted the connection; if not, it listens.
    public let hasAccepted: Bool
}

/// A connection to an app that has not been answered yet, as far as it tells who should answer.
public struct UnansweredConnection: Hashable, Sendable {
    /// The inode of the socket that the app has accepted; nil if it is not known to have accepted one.
    public let accepted: UInt32?
    /// Where the app listens.
    public let address: NetworkAddress

    /// Describes a connection.
    public init(accepted: UInt32?, address: NetworkAddress) {
        self.accepted = accepted
        self.address = address
    }
}
