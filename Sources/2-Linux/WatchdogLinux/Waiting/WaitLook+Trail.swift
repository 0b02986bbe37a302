// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

extension WaitLook {
    /// Where a wait leaves its process.
    struct Exit: Hashable {
        let link: TrailLink
        let process: Int32
        /// Nil if any thread of the process may be meant.
        var thread: Int32?
        /// What that process has open because of the wait.
        var file: OpenFiles.File?
    }

    /// What an open file leads to.
    private enum FarEnd: Hashable {
        /// New clients.
        case listening
        case exit(Exit)
        /// The process itself, the kernel, or a child's end.
        case own
        /// Somebody who was not found: another machine, a process that may not be read.
        case unknown

        var leaving: Exit? {
            if case .exit(let exit) = self { exit } else { nil }
        }
    }

    /// Follows a thread's wait to the process that does not itself wait for another one.
    ///
    /// No process is stopped, and none is looked at twice.
    ///
    /// - Parameters:
    ///   - process: the process whose thread waits. Its user's rights decide how much the trail reveals about others.
    ///   - thread: the thread.
    public func trail(process: Int32, thread: Int32) -> WaitTrail {
        trail(process: process, thread: thread, OpenFiles())
    }

    func trail(process: Int32, thread: Int32, _ files: OpenFiles) -> WaitTrail {
        guard let rights = TraceRights(process) else { return WaitTrail() }
        return readingMemory(of: rights.users[1]).trail(from: Place(process: process, thread: thread), rights, files)
    }

    private func trail(from start: Place, _ rights: TraceRights, _ files: OpenFiles) -> WaitTrail {
        var trail = WaitTrail()
        var places = [start]
        while let place = places.last, let exit = exit(from: place, files) {
            if let index = places.firstIndex(where: { $0.process == exit.process }) {
                trail.cycleStart = index
                trail.closing = exit.link
                break
            }
            guard trail.hops.count < WaitTrail.longest else {
                trail.isCut = true
                break
            }
            guard let hop = look(at: exit, rights, files) else { break }
            trail.hops.append(hop)
            // What a stopped process waited for does not matter until somebody continues it.
            let isHalted = [.stopped, .frozen, .traced, .zombie, .dead].contains(hop.state)
            guard hop.sight != .refused, !hop.isIdle, !isHalted else { break }
            places.append(Place(process: hop.process, thread: hop.thread))
        }
        return trail
    }

    /// Whether a thread is in a call whose wait may lead to another process over an open file.
    static func mayLeave(_ process: Int32, _ thread: Int32) -> Bool {
        guard let call = syscall(Place(process: process, thread: thread)).flatMap({ BlockedCall(parsing: $0) }) else {
            return false
        }
        return [
            WD_CALL_DESCRIPTOR, WD_CALL_SEND, WD_CALL_CONNECT, WD_CALL_POLL, WD_CALL_SELECT, WD_CALL_EPOLL,
        ].contains(call.kind)
    }

    // MARK: - From one process to the next

    /// Where a thread's wait, or that of the thread of its process that it waits for, leaves the process.
    func exit(from start: Place, _ files: OpenFiles) -> Exit? {
        var place = start
        var seen: Set<Place> = [start]
        while !budget.isSpent {
            guard let text = Self.syscall(place), let call = BlockedCall(parsing: text) else { return nil }
            let finding = find(call, at: place)
            if let holder = finding.holder {
                if let exit = Exit(holder, of: call, from: place.process) { return exit }
                guard let next = finding.next, seen.insert(next).inserted else { return nil }
                place = next
                continue
            }
            if let exit = shared(call, place) ?? served(call, finding, place, files) { return exit }
            let isLoop = [WD_CALL_POLL, WD_CALL_SELECT, WD_CALL_EPOLL].contains(call.kind)
            let ends = awaited(by: call, place).map { file in
                // Forked children inherit the pipe through which a loop wakes itself.
                isLoop && isPipeToItself(file.number, place.process)
                    ? .own : farEnd(of: file.number, file.purpose, place.process, files)
            }
            let exits = ends.compactMap(\.leaving)
            // A server, or a client of several: nobody in particular is waited for.
            return Set(exits.map(\.process)).count == 1 && !ends.contains(.listening) ? exits.first : nil
        }
        return nil
    }

    /// A lock in memory whose holder is a thread of a process outside of the app.
    private func shared(_ call: BlockedCall, _ place: Place) -> Exit? {
        guard call.kind == WD_CALL_FUTEX, let thread = sharedOwner(call, place),
            let process = ProcessStatus.read(thread)?.process, process != place.process
        else { return nil }
        return Exit(link: .mutex, process: process, thread: thread)
    }

    /// The process that serves the file system for which a call waits, with FUSE.
    private func served(_ call: BlockedCall, _ finding: Finding, _ place: Place, _ files: OpenFiles) -> Exit? {
        let isOpen = [WD_CALL_DESCRIPTOR, WD_CALL_SEND].contains(call.kind)
        let link = isOpen ? SymbolicLink.target("/proc/\(place.process)/fd/\(call.integer(0))") : nil
        guard let connection = finding.fileServer ?? link.flatMap({ mount(of: $0, place.process)?.fileServer }) else {
            return nil
        }
        let servers = files.holders(of: .fileServer, budget).map(\.process).filter { $0 != place.process }
        let server = servers.first { server in
            has(server, "/dev/fuse") { info(server, $0)?.fileServer == connection }
        }
        // Older kernels do not say whose connection is whose.
        let isTold = servers.contains { server in has(server, "/dev/fuse") { info(server, $0)?.fileServer != nil } }
        return (server ?? (isTold || servers.count > 1 ? nil : servers.first)).map {
            Exit(link: .fileServer, process: $0)
        }
    }

    // MARK: - The files that a call waits for

    private func awaited(by call: BlockedCall, _ place: Place) -> [Polled] {
        switch call.kind {
        case WD_CALL_DESCRIPTOR: [Polled(number: call.integer(0), purpose: .receiving)]
        case WD_CALL_SEND: [Polled(number: call.integer(0), purpose: .sending)]
        case WD_CALL_CONNECT: [Polled(number: call.integer(0), purpose: .connecting(to: address(call, place)))]
        case WD_CALL_POLL: polledFiles(call, place) ?? []
        case WD_CALL_SELECT: selectedFiles(call, place)?.files ?? []
        case WD_CALL_EPOLL: watchedFiles(call.integer(0), place.process) ?? []
        default: []
        }
    }

    /// Nil for more files than are described: a server with many clients.
    private func watchedFiles(_ number: Int32, _ process: Int32) -> [Polled]? {
        guard let information = info(process, number), information.watchedCount <= DescriptorInfo.described else {
            return nil
        }
        return information.watched.compactMap { watched in
            guard let inode = watched.inode, info(process, watched.number)?.inode == inode else { return nil }
            return Polled(number: watched.number, purpose: Purpose(ofEvents: watched.events))
        }
    }

    private func farEnd(_ file: OpenFiles.File, _ purpose: Purpose, _ process: Int32, _ files: OpenFiles) -> FarEnd? {
        let holders = files.holders(of: file, budget)
        let others = holders.map(\.process).filter { $0 != process }
        if others.isEmpty { return holders.isEmpty ? nil : .own }
        let link: TrailLink =
            switch purpose {
            case .sending: .room
            case .connecting: .acceptance
            case .receiving, .moving: .reply
            }
        // Forked processes share their sockets: who works for this one is not idle.
        let busy = others.prefix(Self.compared).first { !isIdle(thread(of: $0, with: file, files), $0, files, file) }
        return .exit(Exit(link: link, process: busy ?? others[0], file: file))
    }

    /// How many processes that share a file are compared.
    private static let compared = 4

    private func farEnd(of number: Int32, _ purpose: Purpose, _ process: Int32, _ files: OpenFiles) -> FarEnd {
        guard !budget.isSpent, let link = SymbolicLink.target("/proc/\(process)/fd/\(number)") else { return .unknown }
        if let inode = Self.inode(link, "pipe:[") { return pipe(inode, number, purpose, process, files) }
        guard let inode = Self.inode(link, "socket:[") else {
            return link.hasPrefix("anon_inode:") || link.hasPrefix("/dev/") ? .own : .unknown
        }
        var socket = wd_internet_socket()
        if wd_internet_socket_query(process, number, &socket) == 0, socket.inode == inode {
            return internet(socket, purpose, process, files)
        }
        return unix(inode, number, purpose, process, files)
    }

    private func pipe(
        _ inode: UInt64, _ number: Int32, _ purpose: Purpose, _ process: Int32, _ files: OpenFiles
    ) -> FarEnd {
        guard let mode = info(process, number)?.accessMode, mode != O_RDWR else { return .own }
        let others = files.holders(of: .pipe(inode), budget).filter { $0.process != process }
        // A process has each of its ends once in the table: the other one may be meant.
        let link = "pipe:[\(inode)]"
        let found = others.filter { holder in
            if let found = info(holder.process, holder.descriptor)?.accessMode, found != mode { return true }
            return has(holder.process, link) { info(holder.process, $0)?.accessMode.map { $0 != mode } ?? false }
        }.map(\.process)
        guard !found.isEmpty else { return others.isEmpty ? .own : .unknown }
        let file = OpenFiles.File.pipe(inode)
        let busy = found.prefix(Self.compared).first { !isIdle(thread(of: $0, with: file, files), $0, files, file) }
        return .exit(
            Exit(link: mode == O_RDONLY ? .output : .drain, process: busy ?? found[0], file: file))
    }

    private func has(_ process: Int32, _ link: String, where matches: (Int32) -> Bool) -> Bool {
        Procfs.numbers(in: "/proc/\(process)/fd").prefix(1_024).contains {
            !budget.isSpent && SymbolicLink.target("/proc/\(process)/fd/\($0)") == link && matches($0)
        }
    }

    private func internet(
        _ socket: wd_internet_socket, _ purpose: Purpose, _ process: Int32, _ files: OpenFiles
    ) -> FarEnd {
        // TCP_LISTEN of include/net/tcp_states.h.
        if socket.is_tcp, socket.state == 10 { return .listening }
        var socket = socket
        if !socket.has_peer { _ = wd_internet_socket_find_peer(&socket) }
        var inode: UInt32 = 0
        guard socket.is_tcp, socket.has_peer else { return .unknown }
        if wd_internet_socket_find_other_end(&socket, &inode) == 0, inode != 0 {
            return farEnd(.socket(UInt64(inode)), purpose, process, files) ?? .unknown
        }
        guard wd_internet_socket_find_listener(&socket, &inode) == 0 else { return .unknown }
        return farEnd(.socket(UInt64(inode)), .connecting(to: nil), process, files) ?? .unknown
    }

    private func unix(
        _ inode: UInt64, _ number: Int32, _ purpose: Purpose, _ process: Int32, _ files: OpenFiles
    ) -> FarEnd {
        var socket = wd_unix_socket()
        guard let short = UInt32(exactly: inode), wd_unix_socket_query(short, &socket) == 0 else { return .unknown }
        if socket.is_listening { return .listening }
        if socket.peer != 0, let end = farEnd(.socket(UInt64(socket.peer)), purpose, process, files) { return end }
        // The kernel links the two only once there is room in the queue of the one that listens.
        if socket.peer == 0, case .connecting(let name?) = purpose, let end = listener(named: name, process, files) {
            return end
        }
        // Not accepted: who listens now may be another process than the one that called listen(2).
        if socket.peer == 0, let name = peerName(number, of: process),
            let end = listener(named: name, process, files)
        {
            return end
        }
        // With a process that may not be read.
        var peer: Int32 = 0
        guard wd_unix_socket_peer_process(process, number, &peer) == 0, ProcessStat.read(peer) != nil else {
            return .unknown
        }
        let link: TrailLink = socket.peer == 0 ? .acceptance : purpose == .sending ? .room : .reply
        return peer == process ? .own : .exit(Exit(link: link, process: peer))
    }

    /// Who listens under the name of a Unix socket to which a process wants to connect.
    private func listener(named name: String, _ process: Int32, _ files: OpenFiles) -> FarEnd? {
        var paths = [name]
        if !name.hasPrefix("/"), !name.hasPrefix("@"), let folder = SymbolicLink.target("/proc/\(process)/cwd") {
            paths.append("\(folder)/\(name.hasPrefix("./") ? name.dropFirst(2) : name[...])")
        }
        for path in paths {
            let sockets = budget.useReserve { _ in
                ListeningSocket.all(on: .unix(path: path), inNamespaceOf: process)
            }
            for inode in sockets.sorted() {
                if let end = farEnd(.socket(inode), .connecting(to: nil), process, files) { return end }
            }
        }
        return nil
    }

    // MARK: - Looking at a process

    private func look(
        at exit: Exit, _ rights: TraceRights, _ files: OpenFiles
    ) -> WaitTrail.Hop? {
        guard let stat = ProcessStat.read(exit.process) else { return nil }
        func hop(_ sight: TrailSight, _ thread: ProcessStat, _ wait: Wait?, isIdle: Bool) -> WaitTrail.Hop {
            WaitTrail.Hop(
                link: exit.link, process: stat.id, parent: stat.parent, name: Self.quotable(stat.name),
                startTime: stat.startTime, sight: sight, thread: thread.id, state: Self.state(thread), wait: wait,
                isIdle: isIdle)
        }
        // The kernel refuses both to whoever may not trace the process.
        let isGone = stat.state == .zombie || stat.state == .dead
        guard isGone || Self.syscall(Place(process: stat.id, thread: stat.id)) != nil else {
            return hop(.refused, stat, nil, isIdle: false)
        }
        let thread = exit.thread ?? self.thread(of: stat.id, with: exit.file, files)
        let place = Place(process: stat.id, thread: thread)
        // Who waits for other clients has not read what this one has sent.
        let isConnection = [.reply, .room, .drain].contains(exit.link)
        let neglects = isConnection && exit.file.map { !reads($0, thread, stat.id) } ?? false
        let isIdle = !neglects && self.isIdle(thread, stat.id, files, exit.file)
        let state = ProcessStat.read(stat.id, thread: thread) ?? stat
        guard let other = TraceRights(stat.id), rights.mayRead(other) else {
            return hop(.outside, state, nil, isIdle: isIdle)
        }
        var wait: Wait?
        if let text = Self.syscall(place), let call = BlockedCall(parsing: text) {
            wait = Wait(place, text, find(call, at: place))
        }
        return hop(.whole, state, wait, isIdle: isIdle)
    }

    /// Whether a thread waits for what comes over a file, or for more files than are described.
    private func reads(_ file: OpenFiles.File, _ thread: Int32, _ process: Int32) -> Bool {
        guard let call = Self.syscall(Place(process: process, thread: thread)).flatMap({ BlockedCall(parsing: $0) })
        else { return false }
        let awaited = self.awaited(by: call, Place(process: process, thread: thread))
        return awaited.isEmpty
            || awaited.contains { other in
                SymbolicLink.target("/proc/\(process)/fd/\(other.number)").flatMap { OpenFiles.File(Array($0.utf8)) }
                    == file
            }
    }

    /// How much a process's answer seems to depend on one of its threads.
    enum ThreadRank: Int, Comparable {
        case isGone
        /// Waits for a condition, as workers without work do, or for another thread of its process.
        case waitsForWork
        case waitsForSignal
        /// Sleeps until a time or an event, as threads do that do something from time to time.
        case sleeps
        /// Waits for the next request, as long as there is such a thread.
        case isIdle
        case waits
        /// Computes, or is stopped or in uninterruptible sleep.
        case runs
        /// Reads or writes the file over which the answer would come.
        case usesFile

        static func < (one: ThreadRank, other: ThreadRank) -> Bool { one.rawValue < other.rawValue }
    }

    /// The thread of a process on which its answer depends: one that reads or writes the file, else one that does not wait for a
    /// request, the first one above all.
    func thread(of process: Int32, with file: OpenFiles.File?, _ files: OpenFiles) -> Int32 {
        let threads = Procfs.threads(of: process)
        guard threads.count > 1 else { return process }
        var best: (thread: Int32, rank: ThreadRank) = (process, .isGone)
        for thread in threads.prefix(256) where !budget.isSpent {
            let rank = self.rank(of: thread, process, file, files)
            guard rank > best.rank else { continue }
            if rank == .runs, thread != process, !hasWorked(thread, of: process) { continue }
            best = (thread, rank)
        }
        return best.thread
    }

    /// Whether a file tells of events, such as an eventfd or an inotify instance.
    private func isOfKernel(_ number: Int32, _ process: Int32) -> Bool {
        SymbolicLink.target("/proc/\(process)/fd/\(number)")?.hasPrefix("anon_inode:") == true
    }

    /// How much CPU time a thread has used at least that does more than to wake up from time to time, in nanoseconds.
    private static let work: UInt64 = 100_000_000

    /// Whether a thread that does not sleep has computed for a while, or cannot be interrupted.
    ///
    /// The threads of a runtime compute for a moment.
    private func hasWorked(_ thread: Int32, of process: Int32) -> Bool {
        guard ProcessStat.read(process, thread: thread)?.state == .running else { return true }
        let line = Procfs.line("/proc/\(process)/task/\(thread)/schedstat", limit: 128) ?? ""
        return line.split(separator: " ").first.flatMap { UInt64($0) }.map { $0 >= Self.work } ?? false
    }

    func rank(of thread: Int32, _ process: Int32, _ file: OpenFiles.File?, _ files: OpenFiles) -> ThreadRank {
        let place = Place(process: process, thread: thread)
        guard let state = ProcessStat.read(process, thread: thread)?.state else { return .isGone }
        guard state == .sleeping, let call = Self.syscall(place).flatMap({ BlockedCall(parsing: $0) }) else {
            return .runs
        }
        let numbers = awaited(by: call, place).map(\.number)
        let works = file.map { file in
            numbers.contains { number in
                SymbolicLink.target("/proc/\(process)/fd/\(number)").flatMap { OpenFiles.File(Array($0.utf8)) } == file
            }
        }
        if works == true, call.kind != WD_CALL_EPOLL { return .usesFile }
        switch call.kind {
        case WD_CALL_FUTEX, WD_CALL_FUTEX_VECTOR, WD_CALL_FUTEX_WAIT:
            // Workers without work wait for a condition: only an owner shows that it is a lock.
            let holder = find(call, at: place).holder
            return holder.map { $0.relation != .ends } == true ? .waits : .waitsForWork
        case WD_CALL_SLEEP: return .sleeps
        case WD_CALL_PAUSE, WD_CALL_SUSPEND, WD_CALL_SIGNAL: return .waitsForSignal
        case WD_CALL_DESCRIPTOR where numbers.allSatisfy({ isOfKernel($0, process) }): return .sleeps
        default: return isIdle(thread, process, files, file) ? .isIdle : .waits
        }
    }

    /// Whether a thread waits for the next request, from anybody or over a connection.
    ///
    /// - Parameter file: the process's end of that connection.
    private func isIdle(_ thread: Int32, _ process: Int32, _ files: OpenFiles, _ file: OpenFiles.File?) -> Bool {
        let place = Place(process: process, thread: thread)
        guard let call = Self.syscall(place).flatMap({ BlockedCall(parsing: $0) }) else { return false }
        let polls = [WD_CALL_EPOLL, WD_CALL_POLL, WD_CALL_SELECT].contains(call.kind)
        guard polls || call.kind == WD_CALL_DESCRIPTOR else { return false }
        let awaited = self.awaited(by: call, place)
        // More files than are described.
        if awaited.isEmpty { return call.kind == WD_CALL_EPOLL }
        let listens = awaited.contains { isListening($0.number, process) }
        guard polls, !listens else { return listens }
        let others = awaited.filter { other in
            let link = SymbolicLink.target("/proc/\(process)/fd/\(other.number)") ?? ""
            if let file, OpenFiles.File(Array(link.utf8)) == file { return false }
            if link.hasPrefix("pipe:[") { return !isPipeToItself(link, other.number, process) }
            return Self.inode(link, "socket:[").map { !isSocketToItself($0, process, files) } ?? false
        }
        return others.isEmpty
    }

    private func isPipeToItself(_ number: Int32, _ process: Int32) -> Bool {
        guard let link = SymbolicLink.target("/proc/\(process)/fd/\(number)"), link.hasPrefix("pipe:[") else {
            return false
        }
        return isPipeToItself(link, number, process)
    }

    /// Loops wake themselves through a pipe or a pair of sockets.
    private func isPipeToItself(_ link: String, _ number: Int32, _ process: Int32) -> Bool {
        let mode = info(process, number)?.accessMode
        return mode == O_RDWR || has(process, link) { info(process, $0)?.accessMode.map { $0 != mode } ?? false }
    }

    private func isSocketToItself(_ inode: UInt64, _ process: Int32, _ files: OpenFiles) -> Bool {
        var socket = wd_unix_socket()
        guard let short = UInt32(exactly: inode), wd_unix_socket_query(short, &socket) == 0, socket.peer != 0 else {
            return false
        }
        return files.holders(of: .socket(UInt64(socket.peer)), budget).contains { $0.process == process }
    }

    private func isListening(_ number: Int32, _ process: Int32) -> Bool {
        guard let link = SymbolicLink.target("/proc/\(process)/fd/\(number)"), let inode = Self.inode(link, "socket:[")
        else { return false }
        var socket = wd_internet_socket()
        if wd_internet_socket_query(process, number, &socket) == 0 { return socket.is_tcp && socket.state == 10 }
        var unix = wd_unix_socket()
        return UInt32(exactly: inode).map { wd_unix_socket_query($0, &unix) == 0 && unix.is_listening } ?? false
    }
}

extension WaitLook.Exit {
    /// Nil if the holder is a thread of the process that waits.
    fileprivate init?(_ holder: Wait.Holder, of call: BlockedCall, from process: Int32) {
        guard holder.process != process, holder.process > 0 else { return nil }
        let link: TrailLink =
            switch holder.relation {
            case .holds, .ends: .mutex
            case .locks: call.kind == WD_CALL_FLOCK ? .fileLock : .recordLock
            case .child, .anyChild: .child
            case .lastUsed: .systemV
            }
        self.init(link: link, process: holder.process, thread: holder.thread)
    }
}
