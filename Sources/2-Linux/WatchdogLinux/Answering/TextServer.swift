// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
public import WatchdogBase

/// Serves one text over HTTP from a thread of its own, so that no client can delay the loop.
///
/// Everything is limited: connections, the length of a request, and the time from a connection to its end. At most two
/// versions of the text are in memory, however slowly they are read.
///
/// Isolation: may be used from any thread.
public final class TextServer: Sendable {
    /// The limits on clients.
    public struct Limits: Hashable, Sendable {
        /// Connections at a time; a further one takes the place of an idle one, or is answered with 503.
        public var connections = 16
        /// Connections of one peer at a time: an IPv4 address, or a network of IPv6 (/64).
        public var connectionsPerPeer = 8
        /// The length of a request's head in bytes.
        public var requestBytes = 8_192
        /// From the connection to the first byte of the request.
        public var firstByte = Duration.seconds(2)
        /// From the connection to the end of the request.
        public var request = Duration.seconds(5)
        /// How long a client may read nothing of its answer before another one may have its place.
        public var stall = Duration.seconds(2)
        /// From the connection to the end of the answer.
        public var patience = Duration.seconds(10)
        /// How old a text may be to be sent again.
        public var freshness = Duration.seconds(1)

        /// Creates the default limits.
        public init() {}
    }

    private struct State {
        var provided: [UInt8]?
        var isEnding = false
        var thread: WorkerThread?
    }

    private let state = Locked(State())
    private let wakeUp: OwnedDescriptor

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - listener: as ``listen(on:)`` returns it.
    ///   - path: the one path there is.
    ///   - contentType: of the text.
    ///   - limits: the limits on clients.
    ///   - ask: called on the thread when a client wants the text; ``provide(_:)`` answers.
    public init(
        _ listener: OwnedDescriptor, path: String, contentType: String, limits: Limits = Limits(),
        ask: @escaping @Sendable () -> Void
    ) throws(LinuxError) {
        wakeUp = OwnedDescriptor(taking: try check("create an eventfd") { wd_eventfd() })
        let thread = try WorkerThread.start { [self] in
            let work = TextServing(listener, wakeUp, path: path, contentType: contentType, limits, ask: ask)
            while let provided = take() { work.turn(provided: provided.text) }
        }
        state.withLock { $0.thread = thread }
    }

    /// Delivers the requested text.
    public func provide(_ text: [UInt8]) {
        state.withLock { $0.provided = text }
        _ = wd_eventfd_signal(wakeUp.number)
    }

    /// Ends the thread, and closes all connections.
    public func stop() {
        let thread = state.withLock { state in
            state.isEnding = true
            defer { state.thread = nil }
            return state.thread
        }
        _ = wd_eventfd_signal(wakeUp.number)
        _ = thread?.join(until: .now() + .seconds(1))
    }

    private func take() -> (text: [UInt8]?, Void)? {
        state.withLock { state in
            guard !state.isEnding else { return nil }
            defer { state.provided = nil }
            return (state.provided, ())
        }
    }

    // MARK: - Listening

    /// A socket that listens on a TCP address; `localhost` is 127.0.0.1, `*` is every address of either family.
    public static func listen(on address: NetworkAddress) throws(LinuxError) -> OwnedDescriptor {
        guard case .tcp(let host, let port) = address else {
            throw LinuxError("listen on \(address)", .invalidArgument)
        }
        switch host {
        case .loopback: return try listen([127, 0, 0, 1], port, address)
        case .v4(let bytes), .v6(let bytes): return try listen(bytes, port, address)
        case .any:
            // Without IPv6 there is only the other family.
            if let descriptor = try? listen([UInt8](repeating: 0, count: 16), port, address) { return descriptor }
            return try listen([0, 0, 0, 0], port, address)
        }
    }

    private static func listen(
        _ bytes: [UInt8], _ port: UInt16, _ address: NetworkAddress
    ) throws(LinuxError) -> OwnedDescriptor {
        let isV6 = bytes.count == 16
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let failure = { LinuxError("listen on \(address)", Errno(rawValue: errno)) }
        let number = socket(isV6 ? AF_INET6 : AF_INET, kind, 0)
        guard number >= 0 else { throw failure() }
        let descriptor = OwnedDescriptor(taking: number)
        // The next watchdogd binds again while connections of this one are ending.
        var yes: Int32 = 1
        setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        let result: Int32
        if isV6 {
            var place = sockaddr_in6()
            place.sin6_family = sa_family_t(AF_INET6)
            place.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &place.sin6_addr) { $0.copyBytes(from: bytes) }
            var only: Int32 = bytes.allSatisfy { $0 == 0 } ? 0 : 1
            setsockopt(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &only, socklen_t(MemoryLayout<Int32>.size))
            result = bind(number, &place)
        } else {
            var place = sockaddr_in()
            place.sin_family = sa_family_t(AF_INET)
            place.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &place.sin_addr) { $0.copyBytes(from: bytes) }
            result = bind(number, &place)
        }
        guard result == 0, Glibc.listen(number, 128) == 0 else { throw failure() }
        return descriptor
    }

    private static func bind<Address>(_ number: Int32, _ place: inout Address) -> Int32 {
        withUnsafePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(number, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }
}
