// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogBase

/// Probes a server from outside by connecting to it.
///
/// A probe has no time limit of its own: its creator cancels it. Nothing it does waits.
///
/// Isolation: the loop's thread.
public final class ConnectionProbe {
    /// What the probe does with the connection.
    public enum Exchange: Sendable {
        /// Waits until the program accepts it.
        case accept
        /// Sends a request and judges the answer.
        case http(request: [UInt8], HTTPAnswer.Expectation)
    }

    /// The longest pause between two attempts while the queue of a Unix socket is full, and between two checks whether
    /// a connection was accepted.
    private static let longestStep: Duration = .milliseconds(50)

    private let loop: EventLoop
    private let closer: Closer?
    private let owner: UInt32
    private let exchange: Exchange
    private var addresses: [SocketAddress]
    private var onEnd: ((ProbeResult) -> Void)?
    private var connection: OutgoingConnection?
    /// For the copy that the closer keeps of a connection through which descriptors can come.
    private var ticket: Closer.Ticket?
    private var source: IOSource?
    private var timer: Timer?
    private var step: Duration = .microseconds(250)
    private var unsent: ArraySlice<UInt8> = []
    private var answer: HTTPAnswer?
    private var firstRefusal: String?
    private var hasEndedSending = false

    /// Begins a probe.
    ///
    /// - Parameters:
    ///   - addresses: where the server may listen; the first one that accepts a connection is used.
    ///   - exchange: what makes the probe a success.
    ///   - loop: the loop on which the probe runs.
    ///   - closer: closes what the server passes where the kernel does not refuse it, before Linux 6.16.
    ///   - owner: the server's user; see ``Closer/keep(_:for:)``.
    ///   - onEnd: called at most once, possibly before this returns, and never after ``cancel()``.
    public init(
        of addresses: [SocketAddress], _ exchange: Exchange, on loop: EventLoop, closer: Closer? = nil,
        owner: UInt32 = 0, onEnd: @escaping (ProbeResult) -> Void
    ) {
        self.loop = loop
        (self.closer, self.owner) = (closer, owner)
        self.exchange = exchange
        self.addresses = addresses
        self.onEnd = onEnd
        if case .http(let request, let expectation) = exchange {
            unsent = request[...]
            answer = HTTPAnswer(expecting: expectation)
        }
        connectNext()
    }

    deinit {
        cancel()
    }

    /// The inode of the socket that the server has accepted for this probe; nil if it is not known to have accepted one.
    public var acceptedSocket: UInt32? { connection?.acceptedSocket }

    /// Cancels the probe without calling back.
    public func cancel() {
        abandon()
        disconnect()
    }

    /// Cancels the probe without calling back, and keeps its connection until this object is released.
    ///
    /// The end of a connection wakes the server, which is then not seen in its wait.
    public func abandon() {
        onEnd = nil
        source?.cancel()
        timer?.cancel()
        source = nil
        timer = nil
    }

    private func disconnect() {
        connection = nil
        if let ticket { closer?.release(ticket) }
        ticket = nil
    }

    private func end(_ result: ProbeResult) {
        let tell = onEnd
        cancel()
        tell?(result)
    }

    /// Runs a step; a failure of this machine says nothing about the server.
    private func attempt(_ step: () throws(LinuxError) -> Void) {
        do {
            try step()
        } catch {
            end(.impossible("\(error)"))
        }
    }

    // MARK: - The connection

    private func connectNext() {
        guard let address = addresses.first else { return end(.failed(firstRefusal ?? "there is no address")) }
        addresses.removeFirst()
        attempt { () throws(LinuxError) in
            let connection = try OutgoingConnection(to: address)
            // Before there is a server that could pass any.
            if !connection.refusesDescriptors { ticket = closer?.keep(connection.descriptor, for: owner) }
            self.connection = connection
            connect()
        }
    }

    private func connect() {
        guard let connection else { return }
        do {
            switch try connection.connect() {
            case .connected:
                begin()
            case .pending:
                watch(for: .writable) { [unowned self] _ in finish() }
            case .queueFull:
                wait { [unowned self] in connect() }
            }
        } catch {
            refused(error.errno)
        }
    }

    private func finish() {
        guard let connection else { return }
        do {
            try connection.finish()
            begin()
        } catch {
            refused(error.errno)
        }
    }

    private func refused(_ errno: Errno) {
        source?.cancel()
        source = nil
        disconnect()
        switch errno.rawValue {
        // Missing permissions or exhausted resources of this process say nothing about the server.
        case EACCES, EPERM, EAGAIN, EADDRNOTAVAIL, ENOBUFS, ENOMEM, EAFNOSUPPORT:
            guard addresses.isEmpty, firstRefusal == nil else { return connectNext() }
            end(.impossible("cannot connect: \(errno)"))
        default:
            firstRefusal = firstRefusal ?? "\(errno)"
            connectNext()
        }
    }

    private func watch(for readiness: IOSource.Readiness, _ handler: @escaping (IOSource.Readiness) -> Void) {
        guard let connection else { return }
        source?.cancel()
        attempt { () throws(LinuxError) in
            source = try loop.onReady(connection.descriptor, for: readiness, handler: handler)
        }
    }

    private func wait(then next: @escaping () -> Void) {
        attempt { () throws(LinuxError) in
            timer?.cancel()
            let timer = try loop.timer { _ in next() }
            timer.arm(at: loop.now + step)
            self.timer = timer
            step = min(step * 2, Self.longestStep)
        }
    }

    // MARK: - The exchange

    private func begin() {
        step = .microseconds(250)
        switch exchange {
        case .accept:
            source?.cancel()
            source = nil
            lookForAcceptance()
        case .http:
            watch(for: [.readable, .writable]) { [unowned self] in converse($0) }
        }
    }

    /// Polls for acceptance, because there is no event for it.
    private func lookForAcceptance() {
        guard let connection else { return }
        do {
            // The program must have accepted the connection to send on it or close it.
            guard try connection.receive(limit: 1) == .nothing else { return end(.answered) }
            switch connection.acceptance {
            case .accepted: return end(.answered)
            // A connection that was withheld is one of this machine, and the program's end of it would be read.
            case .unknown: if !hasEndedSending { return end(.answered) }
            case .queued: break
            case .withheld:
                // With TCP_DEFER_ACCEPT the program gets the connection when data arrives. The end of data is enough,
                // and means as little to the program as the end of any other probe.
                if !hasEndedSending { try connection.endSending() }
                hasEndedSending = true
            }
            wait { [unowned self] in lookForAcceptance() }
        } catch {
            end(.failed("\(error.errno)"))
        }
    }

    private func converse(_ readiness: IOSource.Readiness) {
        guard let connection else { return }
        do {
            if !unsent.isEmpty {
                // A server that answered and closed without reading is still to be heard.
                unsent = (try? connection.send(unsent)).map { unsent.dropFirst($0) } ?? []
                if unsent.isEmpty { try source?.watch(for: .readable) }
            }
            // Read one part at a time: an endless answer must not keep the loop from other work.
            switch try connection.receive() {
            case .bytes(let bytes):
                if let result = answer?.receive(bytes) { end(result) }
            case .nothing:
                break
            case .end:
                end(answer?.end() ?? .answered)
            }
        } catch {
            end(.failed("\(error.errno)"))
        }
    }
}
