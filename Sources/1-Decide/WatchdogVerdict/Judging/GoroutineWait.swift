// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The wait of a goroutine, in words that continue "waits".
struct GoroutineWait {
    /// Who can end a wait.
    private enum Ending {
        /// The goroutine that has a lock of this type.
        case lock(String)
        /// Another goroutine.
        case goroutine
        /// A client, by connecting or with a request.
        case client
        /// Another program, with its answer.
        case answer
        /// Time, or one of several of these.
        case other
    }

    /// The app's own function that is nearest to the innermost call, or else that of a package.
    struct Place {
        let frame: Frame?
        /// Whether the function is the app's.
        let isInApp: Bool

        init(_ frames: [Frame]) {
            let calls = frames.filter { $0.symbol != nil && $0.trust != .scan }
            let owners = calls.map { CodeOwner(compiled: $0.symbol, file: $0.sourceFile) }
            let app = zip(calls, owners).first { $0.1 == .app }?.0
            isInApp = app != nil
            frame = app ?? zip(calls, owners).first { $0.1 == .package }?.0
        }

        /// ` in main.transfer (bank.go:12)`; empty if unknown.
        var words: String { frame?.place.map { " in \($0.singleLine(limit: 96))" } ?? "" }
    }

    let goroutine: CapturedGoroutine
    /// `for a sync.Mutex`.
    let object: String
    private let ending: Ending
    private let ownPlace: Place
    /// Whether the other program is this one.
    private(set) var isForItself = false

    init(_ goroutine: CapturedGoroutine, _ connections: GoroutineConnections) {
        self.goroutine = goroutine
        ownPlace = Place(goroutine.frames)
        let state = goroutine.state
        if let lock = Self.locks[state] {
            (ending, object) = (.lock(lock), "for a \(lock)")
        } else if state == "IO wait" {
            let wait = connections.wait(of: goroutine)
            (ending, object) = (wait.isForClient ? .client : wait.isForAnswer ? .answer : .other, wait.words)
            isForItself = wait.isForItself
        } else if let words = Self.library(goroutine) {
            let server = words == Self.response ? connections.server : nil
            isForItself = server?.isOwn == true
            ending = .answer
            object = words + (server.map { " from \($0.name)" } ?? "")
        } else {
            let isForOthers =
                ["sync.", "chan "].contains(where: state.hasPrefix)
                || ["semacquire", "select (no cases)"].contains(state)
            (ending, object) = (
                isForOthers ? .goroutine : .other, Self.objects[state] ?? "(\(state.singleLine(limit: 48)))"
            )
        }
    }

    /// The type of the lock; nil for any other wait.
    var lock: String? {
        if case .lock(let type) = ending { type } else { nil }
    }

    /// Whether only another goroutine can end it.
    var isForGoroutine: Bool {
        switch ending {
        case .lock, .goroutine: true
        case .client, .answer, .other: false
        }
    }

    var isForClient: Bool {
        if case .client = ending { true } else { false }
    }

    /// Whether the app's own code waits for another program's answer.
    var isForAnswer: Bool {
        if case .answer = ending { ownPlace.isInApp } else { false }
    }

    /// Whether the app or one of its packages waits, and not the standard library for itself.
    var isApps: Bool { ownPlace.frame != nil }

    /// `goroutine 20 in main.audit (bank.go:14)`.
    var title: String {
        let subject =
            goroutine.count > 1
            ? "\(goroutine.count) goroutines" : goroutine.id == 1 ? "the main goroutine" : "goroutine \(goroutine.id)"
        return subject + place
    }

    /// `3 goroutines wait for a sync.Mutex in main.handle (bank.go:14)`.
    var sentence: String {
        goroutine.count == 1
            ? "Goroutine \(goroutine.id) waits \(object)\(place)"
            : "\(goroutine.count) goroutines wait \(object)\(place)"
    }

    /// ` in main.transfer (bank.go:12)`; empty if unknown.
    var place: String { ownPlace.words }

    /// For a finding.
    var source: String { "goroutine \(goroutine.id): \(goroutine.state.singleLine(limit: 48))" }

    // MARK: - Words

    /// Waits for a lock, with its type.
    private static let locks = [
        "sync.Mutex.Lock": "sync.Mutex", "sync.RWMutex.Lock": "sync.RWMutex", "sync.RWMutex.RLock": "sync.RWMutex",
    ]

    private static let objects = [
        "sync.WaitGroup.Wait": "for a sync.WaitGroup", "sync.Cond.Wait": "for a sync.Cond",
        "sync.Once.Do": "for a sync.Once", "semacquire": "for a lock or another goroutine",
        "chan receive": "to receive from a channel", "chan send": "to send to a channel",
        "chan receive (nil chan)": "forever to receive from a nil channel",
        "chan send (nil chan)": "forever to send to a nil channel",
        "select": "in a select", "select (no cases)": "forever in a select without cases", "sleep": "in time.Sleep",
    ]

    private static let response = "for an HTTP response"

    /// Functions that wait in a select or for a channel until another program has answered a goroutine of their own.
    private static let answers = [
        ("net/http.(*persistConn).roundTrip", response),
        ("net/http.(*http2ClientConn).roundTrip", response), ("net/http.(*http2ClientConn).RoundTrip", response),
        ("golang.org/x/net/http2.(*ClientConn).roundTrip", response),
        ("golang.org/x/net/http2.(*ClientConn).RoundTrip", response),
        ("net/http.(*Transport).getConn", "for a connection to an HTTP server"),
        ("net.(*Resolver).lookupIPAddr", "for a name lookup"),
        ("net.(*Resolver).goLookupIPCNAMEOrder", "for a name lookup"),
        ("database/sql.(*DB).conn", "for a free connection of its database pool"),
        ("google.golang.org/grpc/internal/transport.(*recvBufferReader).", "for a gRPC response"),
        ("os/exec.(*Cmd).awaitGoroutines", "for the output of a child process to end"),
    ]

    /// What a function of a library that is nearer than the app's own waits for; nil if none is known.
    private static func library(_ goroutine: CapturedGoroutine) -> String? {
        guard ["select", "chan receive"].contains(goroutine.state) else { return nil }
        return goroutine.frames.lazy.compactMap { frame in
            frame.symbol.flatMap { symbol in answers.first { symbol.hasPrefix($0.0) }?.1 }
        }.first
    }
}
