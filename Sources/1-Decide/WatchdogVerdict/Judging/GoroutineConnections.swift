// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The files for which the goroutines of a Go program wait.
///
/// Go's runtime polls all of them in one thread. The kernel tells about the files of its epoll instance, and a goroutine's
/// stack has the number of its own.
struct GoroutineConnections {
    /// `TCP 127.0.0.1:51234 → 127.0.0.1:8080, ESTABLISHED, nothing to read`, by number; not all of many.
    private let files: [Int: String]
    private let goroutines: [CapturedGoroutine]
    /// The ports at which the process listens, as far as known.
    private let ports: Set<Substring>

    init(_ goroutines: [CapturedGoroutine], _ evidence: HangEvidence) {
        self.goroutines = goroutines
        let polling = (evidence.waits + evidence.besides).filter {
            SystemCall.blocking($0.syscall)?.name?.hasPrefix("epoll_") == true
        }
        let files = Dictionary(polling.flatMap { PolledFiles.described(in: $0.subject ?? "") }) { first, _ in first }
        self.files = files
        let served = goroutines.filter { $0.calls(Self.clients) }.flatMap(\.descriptors).compactMap { files[$0] }
        ports = Set(
            (served + files.values.filter { $0.contains(", LISTEN") }).compactMap {
                Self.ends($0).map { Self.port($0.local) }
            })
    }

    /// The server that all requests of Go's HTTP client wait for, and whether that is in the same process; nil if unknown, or
    /// if there are several.
    var server: (name: String, isOwn: Bool)? {
        let readers = goroutines.filter { $0.calls(["net/http.(*persistConn).readLoop"]) }
        let known = readers.flatMap(\.descriptors).compactMap { files[$0] }
        guard let first = known.first, let peer = Self.peer(first), Set(known.map(Self.peer)).count == 1 else {
            return nil
        }
        return (peer, isOfOwnServer(first))
    }

    /// A wait in words that continue "waits", and who can end it.
    struct Wait {
        let words: String
        var isForClient = false
        /// Whether another program can, with its answer.
        var isForAnswer = false
        /// Whether that program is this one.
        var isForItself = false
    }

    /// What a goroutine waits for that waits for an event of a file, and who can end that.
    func wait(of goroutine: CapturedGoroutine) -> Wait {
        let isConnecting = goroutine.calls(["net.(*netFD).connect"])
        let isWriting = goroutine.calls(["internal/poll.(*pollDesc).waitWrite", "internal/poll.(*FD).Write"])
        if goroutine.calls(Self.clients) { return Wait(words: "for a client", isForClient: true) }
        let known = goroutine.descriptors.compactMap { files[$0] }
        if known.allSatisfy(isOfClient), !known.isEmpty {
            return Wait(words: isWriting ? "for a client to take its data" : "for data from a client")
        }
        let file = known.first { !isOfClient($0) }
        let others = Set(known.compactMap(Self.peer)).count > 1 ? " and others" : ""
        if let peer = file.flatMap(Self.peer).map({ $0 + others }) {
            let words =
                isConnecting || file?.contains("SYN_SENT") == true
                ? "for a connection to \(peer)"
                : isWriting ? "for \(peer) to take its data" : "for an answer from \(peer)"
            return Wait(words: words, isForAnswer: true, isForItself: file.map(isOfOwnServer) == true)
        }
        if isConnecting { return Wait(words: "for a connection to a server", isForAnswer: true) }
        guard let file else {
            let isSocket = goroutine.calls(["net."])
            return Wait(words: "for a connection" + (isSocket ? "" : " or a pipe"))
        }
        let noun = Self.noun(file)
        return Wait(
            words: isWriting ? "to write to \(noun)" : "for data from \(noun)",
            isForAnswer: OtherEnds.first(of: file) != nil)
    }

    /// Whether a client has made the connection: its own end has a port at which the process listens.
    private func isOfClient(_ file: String) -> Bool {
        guard let ends = Self.ends(file), ends.peer != nil else { return false }
        return listens(at: ends.local)
    }

    /// Whether the server at the other end listens in the same process.
    private func isOfOwnServer(_ file: String) -> Bool {
        guard let peer = Self.ends(file)?.peer, ["127.", "[::1]"].contains(where: peer.hasPrefix) else { return false }
        return listens(at: peer)
    }

    private func listens(at address: Substring) -> Bool { ports.contains(Self.port(address)) }

    /// `8080` of `[::1]:8080`.
    private static func port(_ address: Substring) -> Substring { address.split(separator: ":").last ?? "" }

    /// The addresses of `TCP 127.0.0.1:8080 → 127.0.0.1:51234, ESTABLISHED`; nil for other files.
    private static func ends(_ file: String) -> (local: Substring, peer: Substring?)? {
        guard file.hasPrefix("TCP ") else { return nil }
        let words = file.prefix { $0 != "," }.split(separator: " ")
        return words.count > 1 ? (words[1], words.count > 3 ? words[3] : nil) : nil
    }

    /// `127.0.0.1:5432 (postgres)`; nil without one.
    private static func peer(_ file: String) -> String? {
        guard let arrow = file.firstRange(of: " → ") else { return nil }
        let address = file[arrow.upperBound...].prefix { $0 != "," }
        return String(address).singleLine(limit: 80) + (OtherEnds.first(of: file).map { " (\($0.name))" } ?? "")
    }

    /// `sort (pid 912) through a pipe`.
    private static func noun(_ file: String) -> String {
        let kind = String(file.prefix { $0 != "," }).singleLine(limit: 80)
        let noun = ["pipe", "Unix socket"].contains(kind) ? "a \(kind)" : kind
        return OtherEnds.first(of: file).map { "\($0.name) (pid \($0.process)) through \(noun)" } ?? noun
    }

    /// Functions that wait for a client's connection or request.
    private static let clients = [
        "internal/poll.(*FD).Accept", "net/http.(*connReader).backgroundRead", "net/http.(*conn).readRequest",
    ]
}

extension CapturedGoroutine {
    /// Whether one of its functions begins with one of these.
    fileprivate func calls(_ functions: [String]) -> Bool {
        frames.contains { frame in functions.contains { frame.symbol?.hasPrefix($0) == true } }
    }
}
