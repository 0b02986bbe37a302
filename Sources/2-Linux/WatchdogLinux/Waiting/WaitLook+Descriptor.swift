// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

extension WaitLook {
    /// What a call wants of an open file, which decides what is worth saying about it.
    enum Purpose: Hashable {
        case receiving
        case sending
        /// The address as the process gave it; nil if it cannot be read.
        case connecting(to: String?)
        /// Data goes from one file to another.
        case moving

        /// What a process waits for that asked for these events: poll(2), epoll_ctl(2).
        init(ofEvents events: UInt32) {
            let (reads, writes) = (UInt32(POLLIN | POLLPRI | 0x2000), UInt32(POLLOUT))
            self = events & writes != 0 && events & reads == 0 ? .sending : .receiving
        }
    }

    /// What an open file is, and how that was found.
    struct Description {
        var text: String
        var sources: [String]
        /// The address of the other end of a socket, as in ``Wait/peer``.
        var peer: String?

        init(_ text: String, _ sources: [String], peer: String? = nil) {
            (self.text, self.sources, self.peer) = (text, sources, peer)
        }
    }

    func openFile(_ number: Int32, _ place: Place, for purpose: Purpose = .receiving) -> Finding {
        guard var file = describe(number, place.process, for: purpose) else { return Finding() }
        if let ends = endsOfFIFO(number, place) { file.text += " (fifo)\(ends)" }
        return Finding(subject: "fd \(number): \(file.text)", peer: file.peer, sources: file.sources)
    }

    /// The two files of splice(2), sendfile(2) and similar calls.
    func moved(_ call: BlockedCall, to second: Int, _ place: Place) -> Finding {
        var finding = openFile(call.integer(0), place, for: .moving)
        let other = openFile(call.integer(second), place, for: .moving)
        if !finding.subject.isEmpty, !other.subject.isEmpty {
            finding.subject += " and \(other.subject)"
            // Either file may be the one that blocks.
            finding.peer = finding.peer ?? other.peer
            finding.sources += other.sources.filter { !finding.sources.contains($0) }
        }
        return finding
    }

    /// The address that connect(2) was given; nil if it cannot be read or is of another family.
    func address(_ call: BlockedCall, _ place: Place) -> String? {
        let length = call.integer(2)
        guard length >= 2, length <= 128, let bytes = memory(place.process, at: call.arguments[1], count: Int(length))
        else { return nil }
        // The family is the first field: unix(7).
        let isUnix = Int32(bytes[0]) | Int32(bytes[1]) << 8 == AF_UNIX
        return isUnix ? Self.name(ofUnixAddress: Array(bytes[2...])) : InternetSocket.text(ofSocketAddress: bytes)
    }

    /// poll(2) does not change its array until it returns.
    func polled(_ call: BlockedCall, _ place: Place) -> Finding {
        let count = call.arguments[1]
        guard count > 0, count <= 1_024 else { return Finding(subject: count == 0 ? "no fd" : "\(count) fds") }
        guard let files = polledFiles(call, place) else {
            return Finding(subject: count.counted("fd"))
        }
        return several(files, count: Int(count), place, source: "the argument of poll")
    }

    /// The first files of a poll(2); nil if they cannot be read.
    func polledFiles(_ call: BlockedCall, _ place: Place) -> [Polled]? {
        let count = call.arguments[1]
        guard count > 0, count <= 1_024 else { return nil }
        let shown = min(Int(count), DescriptorInfo.described)
        guard let memory = self.memory(place.process, at: call.arguments[0], count: shown * 8) else { return nil }
        return (0..<shown).map { index in
            let entry = memory[index * 8..<index * 8 + 8]
            return Polled(
                number: entry.prefix(4).reversed().reduce(0) { $0 << 8 | Int32($1) },
                purpose: Purpose(ofEvents: entry.dropFirst(4).prefix(2).reversed().reduce(0) { $0 << 8 | UInt32($1) }))
        }
    }

    /// select(2) does not change its sets until it returns.
    func selected(_ call: BlockedCall, _ place: Place) -> Finding {
        guard let (files, count) = selectedFiles(call, place) else { return Finding() }
        return several(files, count: count, place, source: "the arguments of select")
    }

    /// The first files of a select(2), and how many there are; nil if they cannot be read.
    func selectedFiles(_ call: BlockedCall, _ place: Place) -> (files: [Polled], count: Int)? {
        let limit = call.integer(0)
        guard limit >= 0, limit <= 1_024 else { return nil }
        let size = (Int(limit) + 63) / 64 * 8
        let none = [UInt8](repeating: 0, count: size)
        var sets: [[UInt8]] = []
        for address in call.arguments[1...3] {
            guard let set = address == 0 || limit == 0 ? none : memory(place.process, at: address, count: size) else {
                return nil
            }
            sets.append(set)
        }
        func isSet(_ number: Int32, in set: [UInt8]) -> Bool { set[Int(number) / 8] >> UInt8(number % 8) & 1 == 1 }
        let numbers = (0..<limit).filter { number in sets.contains { isSet(number, in: $0) } }
        let files = numbers.prefix(DescriptorInfo.described).map { number in
            Polled(
                number: number,
                purpose: isSet(number, in: sets[1]) && !isSet(number, in: sets[0]) ? .sending : .receiving)
        }
        return (files, numbers.count)
    }

    /// One of the files of a call that waits for several.
    struct Polled {
        let number: Int32
        let purpose: Purpose
    }

    private func several(_ files: [Polled], count: Int, _ place: Place, source: String) -> Finding {
        guard count != 1 else {
            let number = files[0].number
            var finding = openFile(number, place, for: files[0].purpose)
            if finding.subject.isEmpty { finding.subject = "fd \(number)" }
            finding.sources.insert("process_vm_readv(2), \(source)", at: 0)
            note(childOf: number, place, &finding)
            return finding
        }
        guard count > 0 else { return Finding(subject: "no fd") }
        let list = list(files.map { ($0.number, describe($0.number, place.process, for: $0.purpose)) }, of: count)
        return Finding(
            subject: "\(count) fds: \(list.text)", sources: ["process_vm_readv(2), \(source)"] + list.sources)
    }

    /// `5 (eventfd), 6, …`.
    func list(
        _ files: [(number: Int32, file: Description?)], of count: Int
    ) -> (text: String, sources: [String]) {
        let names = files.map { number, file in "\(number)" + (file.map { " (\($0.text))" } ?? "") }
        return (
            names.joined(separator: ", ") + (count > files.count ? ", …" : ""), files.flatMap { $0.file?.sources ?? [] }
        )
    }

    // MARK: - Kinds of files

    /// Reads only the process's entries in `/proc`: a hanging file system must not be asked about its files.
    ///
    /// - Parameter depth: how many epoll instances within each other are described with what they watch: they can watch each
    ///   other.
    func describe(
        _ number: Int32, _ process: Int32, for purpose: Purpose = .receiving, depth: Int = 2
    ) -> Description? {
        let path = "/proc/\(process)/fd/\(number)"
        guard number >= 0, let link = SymbolicLink.target(path) else { return nil }
        if let inode = Self.inode(link, "socket:[") {
            var socket = socket(inode, number, of: process, for: purpose)
            socket.sources.insert(path, at: 0)
            return socket
        }
        let information = info(process, number)
        let infoPath = "/proc/\(process)/fdinfo/\(number)"
        if Self.inode(link, "pipe:[") != nil {
            let ends = otherEnds(link, of: process, accessMode: information?.accessMode)
            return Description("pipe\(ends)", [path, infoPath])
        }
        if link.hasPrefix("anon_inode:") {
            var name = String(link.dropFirst("anon_inode:".count).filter { $0 != "[" && $0 != "]" }.prefix(64))
            if name == "eventpoll" {
                let set = epoll(information, of: process, depth)
                return Description(set.text, [path, infoPath] + set.sources)
            }
            if name == "io_uring", let ring = information?.ring, let inode = information?.inode {
                let list = requests(of: ring, inode, process)
                return Description("io_uring" + list.text, [path, infoPath] + list.sources)
            }
            if name == "pidfd", let id = information?.process { name = Self.pidfd(of: id) }
            return Description(name, [path, infoPath])
        }
        if let terminal = terminal(link, information, process) { return Description(terminal, [path, infoPath]) }
        if isMessageQueue(link, information, process) { return Description("message queue \(link)", [path, infoPath]) }
        let mount = mount(of: link, process)
        return Description(link + (mount.map { " \($0.text)" } ?? ""), [path] + (mount.map { [$0.source] } ?? []))
    }

    func info(_ process: Int32, _ number: Int32) -> DescriptorInfo? {
        Procfs.read("/proc/\(process)/fdinfo/\(number)", limit: 64 << 10).map { DescriptorInfo(parsing: $0) }
    }

    private func epoll(
        _ information: DescriptorInfo?, of process: Int32, _ depth: Int
    ) -> (text: String, sources: [String]) {
        guard let information else { return ("epoll", []) }
        let count = information.watchedCount
        guard count > 0 else { return ("epoll of no fd", []) }
        let files = telling(information.watched, of: process).map { watched -> (number: Int32, file: Description?) in
            // The number may be another file's by now: the set watches files, not numbers.
            guard depth > 0, !budget.isSpent, let inode = watched.inode,
                info(process, watched.number)?.inode == inode
            else { return (watched.number, nil) }
            let purpose = Purpose(ofEvents: watched.events)
            return (watched.number, describe(watched.number, process, for: purpose, depth: depth - 1))
        }
        let list = list(files, of: count)
        return ("epoll of \(count.counted("fd")): \(list.text)", list.sources)
    }

    /// Of more watched files than are described, the connections that the process itself has made come first: the ends of those
    /// that its clients have made share the port at which it listens.
    private func telling(_ watched: [DescriptorInfo.Watched], of process: Int32) -> ArraySlice<DescriptorInfo.Watched> {
        guard watched.count > DescriptorInfo.described else { return watched[...] }
        var counts: [UInt16: Int] = [:]
        let ports = watched.map { watched -> UInt16? in
            var socket = wd_internet_socket()
            guard !budget.isSpent, wd_internet_socket_query(process, watched.number, &socket) == 0,
                socket.inode == watched.inode
            else { return nil }
            counts[socket.local.port, default: 0] += 1
            return socket.has_peer ? socket.local.port : nil
        }
        func isOwn(_ index: Int) -> Bool { ports[index].map { counts[$0] == 1 } ?? false }
        let order = watched.indices.filter(isOwn) + watched.indices.filter { !isOwn($0) }
        return order.prefix(DescriptorInfo.described).map { watched[$0] }[...]
    }

    static func inode(_ link: String, _ prefix: String) -> UInt64? {
        guard link.hasPrefix(prefix), link.hasSuffix("]") else { return nil }
        return UInt64(decimal: link.utf8.dropFirst(prefix.utf8.count).dropLast())
    }

    /// Whether a file is a POSIX message queue: it is in the root of a file system that is mounted nowhere.
    ///
    /// Memory files are in such a file system, too, under names of their own.
    private func isMessageQueue(_ link: String, _ information: DescriptorInfo?, _ process: Int32) -> Bool {
        guard link.hasPrefix("/"), !link.dropFirst().contains("/"), let mount = information?.mount,
            !["/memfd:", "/SYSV", "/anon_hugepage"].contains(where: link.hasPrefix),
            let file = try? OwnedDescriptor(opening: "/proc/\(process)/mountinfo", flags: O_RDONLY)
        else { return false }
        var isMounted = false
        var left = 256 << 10
        Procfs.forEachLine(file, limit: left) { line in
            let id = line.split(separator: UInt8(ascii: " "), maxSplits: 1).first
            isMounted = id.flatMap { UInt32(decimal: $0) } == mount
            left = budget.isSpent ? 0 : left - line.count - 1
            return left > 0 && !isMounted
        }
        return left > 0 && !isMounted
    }

    /// A terminal, or the side from which a program controls one; nil for other files.
    private func terminal(_ link: String, _ information: DescriptorInfo?, _ process: Int32) -> String? {
        let controllers = ["/dev/ptmx", "/dev/pts/ptmx"]
        if controllers.contains(link), let number = information?.terminal {
            let terminal = "/dev/pts/\(number)"
            let found = processes(holding: terminal, startingWith: process) { _, _ in true }
            return "/dev/ptmx of terminal \(terminal)\(Self.ends(found, of: process))"
        }
        guard link.hasPrefix("/dev/pts/") || link.hasPrefix("/dev/tty") else { return nil }
        guard let number = UInt32(decimal: link.utf8.dropFirst("/dev/pts/".utf8.count)) else {
            return "terminal \(link)"
        }
        let found = processes(holding: controllers[0], startingWith: process) { info($0, $1)?.terminal == number }
        return "terminal \(link)\(Self.ends(found, of: process))"
    }

    // MARK: - The other end

    /// `, other end in pid 912 "sleep"`; empty if no process of the app has it.
    private func otherEnds(_ link: String, of process: Int32, accessMode: Int32?) -> String {
        guard let accessMode, accessMode != O_RDWR else { return "" }
        let found = processes(holding: link, startingWith: process) { info($0, $1)?.accessMode != accessMode }
        return Self.ends(found, of: process)
    }

    /// Who has the other end of a FIFO in which a thread waits; nil for any other file.
    ///
    /// Only the kernel's function tells a FIFO from a file without asking the file system.
    private func endsOfFIFO(_ number: Int32, _ place: Place) -> String? {
        guard let link = SymbolicLink.target("/proc/\(place.process)/fd/\(number)"), link.hasPrefix("/"),
            let channel = Procfs.line("\(place.task)/wchan", limit: 64),
            ["pipe_read", "pipe_write"].contains(where: channel.hasSuffix)
        else { return nil }
        return otherEnds(link, of: place.process, accessMode: info(place.process, number)?.accessMode)
    }

    private static func ends(_ found: [Int32], of process: Int32) -> String {
        guard !found.isEmpty else { return "" }
        let names = found.prefix(2).map { id in
            guard id != process else { return "this process" }
            let state = ProcessStat.read(id).flatMap { deed(Self.state($0)) }.map { ", which \($0)" } ?? ""
            return "pid \(id) \"\(name(Place(process: id, thread: id)))\"\(state)"
        }
        return ", other end in " + names.joined(separator: " and ") + (found.count > 2 ? " and others" : "")
    }

    /// The state of a process, which the kernel calls asleep while its cgroup is frozen.
    ///
    /// Version 2 keeps such a process in the kernel's own code for signals. Version 1 leaves most sleepers where they are, and
    /// only its own file tells.
    static func state(_ stat: ProcessStat) -> ProcessStat.State {
        // What it does otherwise is not known, and most processes sleep.
        if stat.state == .traced, isTracedByUs(stat.id) { return .sleeping }
        let isFrozen =
            switch stat.state {
            case .sleeping:
                ["get_signal", "do_freezer_trap"].contains(Procfs.line("/proc/\(stat.id)/wchan", limit: 64) ?? "")
            case .uninterruptible: isInFreezer(stat.id)
            default: false
            }
        return isFrozen ? .frozen : stat.state
    }

    /// Whether this program, of which this process may be a child, has stopped a process to read its stacks.
    private static func isTracedByUs(_ process: Int32) -> Bool {
        guard let tracer = ProcessStatus.read(process)?.tracer.flatMap({ ProcessStatus.read($0)?.process }) else {
            return false
        }
        let own = sequence(first: getpid()) { ProcessStat.read($0)?.parent }
        return own.prefix(4).contains(tracer)
    }

    private static func isInFreezer(_ process: Int32) -> Bool {
        // `6:freezer:/docker/0a1b`: cgroups(7).
        let lines = Procfs.read("/proc/\(process)/cgroup", limit: 64 << 10)?.split(separator: UInt8(ascii: "\n")) ?? []
        let mark = ":freezer:"
        for line in lines.lazy.map({ String(decoding: $0, as: UTF8.self) }) {
            guard let range = line.firstRange(of: mark), !line.contains("/../") else { continue }
            let group = line[range.upperBound...]
            return Procfs.line("/sys/fs/cgroup/freezer\(group)/freezer.state", limit: 64) == "FROZEN"
        }
        return false
    }

    /// What a process does that does not sleep, which each does most of the time.
    static func deed(_ state: ProcessStat.State) -> String? {
        switch state {
        case .running: "runs"
        case .stopped: "is stopped"
        case .frozen: "is frozen"
        case .traced: "is stopped by a tracer"
        case .uninterruptible: "is in uninterruptible sleep"
        case .zombie: "has ended"
        default: nil
        }
    }

    /// Up to three processes of the app that have a file open, as far as the budget allows.
    func processes(
        holding link: String, startingWith process: Int32, where matches: (Int32, Int32) -> Bool
    ) -> [Int32] {
        var found: [Int32] = []
        for id in ([process] + family().filter { $0 != process }).prefix(64) where found.count < 3 {
            guard let directory = opendir("/proc/\(id)/fd") else { continue }
            defer { closedir(directory) }
            while let entry = readdir(directory) {
                guard !budget.isSpent else { return found }
                let number = withUnsafeBytes(of: &entry.pointee.d_name) { name in
                    Int32(decimal: name.prefix { $0 != 0 })
                }
                guard let number, SymbolicLink.target("/proc/\(id)/fd/\(number)") == link, matches(id, number) else {
                    continue
                }
                found.append(id)
                break
            }
        }
        return found
    }

    // MARK: - Sockets

    private func socket(
        _ inode: UInt64, _ number: Int32, of process: Int32, for purpose: Purpose
    ) -> Description {
        var copy = wd_internet_socket()
        let path = "/proc/\(process)/fd/\(number)"
        if wd_internet_socket_query(process, number, &copy) == 0, copy.inode == inode,
            let socket = InternetSocket(copy)
        {
            let name = copy.is_tcp ? "TCP" : "UDP"
            // getpeername(2) names no peer before the connection is there.
            if socket.isConnecting, [.receiving, .sending, .moving].contains(purpose) {
                let isFound = budget.useReserve { _ in wd_internet_socket_find_peer(&copy) == 0 }
                if isFound, let socket = InternetSocket(copy) {
                    let sources = ["pidfd_getfd(2), getsockname(2)", "sock_diag(7) INET_DIAG"]
                    return socket.described(as: name, for: purpose, sources)
                }
                // It may be in another network namespace.
                for table in [name.lowercased(), name.lowercased() + "6"] {
                    let found = internet(inode, name, "/proc/\(process)/net/\(table)", for: purpose)
                    if found.sources.isEmpty { continue }
                    return found
                }
            }
            let end = copy.is_tcp ? otherEnd(of: copy, process) : nil
            var description = socket.described(
                as: name, for: purpose,
                ["pidfd_getfd(2), getpeername(2)"] + (end == nil ? [] : ["sock_diag(7) INET_DIAG"]))
            description.text += end ?? ""
            return description
        }
        var name = [CChar](repeating: 0, count: 32)
        guard wd_socket_protocol(path, &name, UInt(name.count)) == 0 else { return Description("socket", []) }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // The first subflow of Multipath TCP is in the tables of TCP, with the same inode.
        let tables = [
            "TCP": "tcp", "TCPv6": "tcp6", "MPTCP": "tcp", "MPTCPv6": "tcp6", "UDP": "udp", "UDPv6": "udp6",
        ]
        if let table = tables[text] {
            return internet(inode, table.prefix(3).uppercased(), "/proc/\(process)/net/\(table)", for: purpose)
        }
        if text.hasPrefix("UNIX") { return unix(inode, number, of: process, for: purpose) }
        return Description("\(text) socket", ["system.sockprotoname of \(path)"])
    }

    /// The process of the app that has the other end of a connection within this machine; nil for any other one.
    private func otherEnd(of socket: wd_internet_socket, _ process: Int32) -> String? {
        var socket = socket
        var inode: UInt32 = 0
        guard socket.has_peer, !budget.isSpent, wd_internet_socket_find_other_end(&socket, &inode) == 0, inode != 0
        else { return nil }
        let found = processes(holding: "socket:[\(inode)]", startingWith: process) { _, _ in true }
        // A process often has both ends because it serves itself, which tells nothing.
        return found.isEmpty || found.contains(process) ? nil : Self.ends(found, of: process)
    }

    /// Searches a table, where the socket itself may not be copied: Yama's `ptrace_scope` is 1 for an ordinary user.
    private func internet(
        _ inode: UInt64, _ name: String, _ table: String, for purpose: Purpose
    ) -> Description {
        let unknown = Description("\(name) socket", [])
        guard let file = try? OwnedDescriptor(opening: table, flags: O_RDONLY) else { return unknown }
        var found: InternetSocket?
        budget.useReserve { left in
            _ = Procfs.forEachLine(file, limit: 512 << 10) { line in
                found = InternetSocket(parsing: line, withInode: inode)
                return found == nil && !left.isSpent
            }
        }
        // A socket that is neither bound nor connected is in no table.
        return found.map { $0.described(as: name, for: purpose, [table]) } ?? unknown
    }

    private func unix(
        _ inode: UInt64, _ number: Int32, of process: Int32, for purpose: Purpose
    ) -> Description {
        var sources = ["sock_diag(7) UNIX_DIAG"]
        var socket = wd_unix_socket()
        // The socket may be in another network namespace, where it cannot be queried.
        guard let short = UInt32(exactly: inode), wd_unix_socket_query(short, &socket) == 0 else {
            return Description("Unix socket", [])
        }
        var text = "Unix socket"
        var peer = wd_unix_socket()
        if socket.peer != 0, wd_unix_socket_query(socket.peer, &peer) != 0 { peer = wd_unix_socket() }
        // The end that a server has yet to accept has no inode.
        let awaited = socket.peer == 0 && !socket.is_listening ? peerName(number, of: process) : nil
        if awaited != nil { sources.append("pidfd_getfd(2), getpeername(2)") }
        if let name = Self.name(of: socket) ?? Self.name(of: peer) ?? awaited { text += " \(name)" }
        if case .connecting(let address) = purpose {
            return Description(text + (address.map { " → \($0)" } ?? ""), sources, peer: address)
        }
        let waiting = socket.receive_queue
        if socket.is_listening {
            text += waiting == 0 ? ", no connection to accept" : ", \(waiting) connections to accept"
            return Description(text, sources)
        }
        if socket.peer != 0 {
            let found = processes(holding: "socket:[\(socket.peer)]", startingWith: process) { _, _ in true }
            text += Self.ends(found, of: process)
        }
        if awaited != nil { text += ", not accepted yet" }
        switch purpose {
        case .sending: text += socket.peer == 0 ? "" : ", which does not read"
        case .receiving where socket.has_receive_queue:
            text += waiting == 0 ? ", nothing to read" : ", \(waiting) bytes to read"
        default: break
        }
        // Only the end that was bound has a name, usually the server's.
        return Description(text, sources, peer: Self.name(of: peer) ?? awaited)
    }

    /// The name of the socket to which one is connected, which may not have accepted that yet; nil without one.
    func peerName(_ number: Int32, of process: Int32) -> String? {
        var name = [CChar](repeating: 0, count: 108)
        let length = wd_unix_socket_peer_name(process, number, &name, UInt32(name.count))
        guard length > 0 else { return nil }
        return Self.name(ofUnixAddress: name.prefix(Int(length)).map { UInt8(bitPattern: $0) })
    }

    private static func name(of socket: wd_unix_socket) -> String? {
        guard socket.name_length > 0 else { return nil }
        return name(ofUnixAddress: withUnsafeBytes(of: socket.name) { Array($0.prefix(Int(socket.name_length))) })
    }

    /// The path, or the abstract name after `@`.
    private static func name(ofUnixAddress bytes: [UInt8]) -> String? {
        guard !bytes.isEmpty else { return nil }
        let isAbstract = bytes[0] == 0
        // Many programs pass the whole field, so their abstract names end in NULs.
        let end = isAbstract ? (bytes.lastIndex { $0 != 0 } ?? 0) + 1 : bytes.count
        let name = String(decoding: isAbstract ? bytes[1..<max(1, end)] : bytes.prefix { $0 != 0 }, as: UTF8.self)
        return isAbstract ? "@\(name)" : name
    }
}
