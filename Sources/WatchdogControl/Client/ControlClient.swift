// SPDX-License-Identifier: Apache-2.0

import CLinux
import FoundationEssentials
import Glibc
import WatchdogLinux
import WatchdogPolicy

/// A connection to a running watchdogd, for programs that wait for the answer.
///
/// ```swift
/// let client = try ControlClient(.system)
/// for app in try client.list().apps { print(app.name, app.state.rawValue) }
/// ```
///
/// Isolation: one thread at a time.
public final class ControlClient {
    /// Ten thousand apps with all that is told of them are a tenth of it.
    private static let longestReply = 64 << 20

    /// How long an answer may take that nobody waits for on purpose.
    public var patience: Duration

    private let place: ControlPath
    private let descriptor: OwnedDescriptor
    private var input = MessageBuffer(limit: longestReply)
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()

    /// Connects.
    ///
    /// - Parameters:
    ///   - place: Where.
    ///   - patience: How long connecting, and each answer, may take.
    public init(_ place: ControlPath, patience: Duration = .seconds(10)) throws(ControlClientError) {
        self.place = place
        self.patience = patience
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let number = wd_stream_connect(place.path, Int32(clamping: max(0, patience.nanoseconds) / 1_000_000))
        guard number >= 0 else { throw .cannotConnect(Errno(rawValue: errno), place) }
        descriptor = OwnedDescriptor(taking: number)
    }

    // MARK: - Methods

    /// Who answers.
    public func info() throws(ControlClientError) -> ServiceInfo {
        try call(.getInfo, EmptyRequest())
    }

    /// The definition of an interface, ``ControlInterface/name`` or another one of ``info()``.
    public func definition(of interface: String) throws(ControlClientError) -> String {
        let reply: InterfaceReply = try call(.getInterfaceDescription, InterfaceRequest(interface: interface))
        return reply.description
    }

    /// All apps, and the files that cannot be used.
    public func list() throws(ControlClientError) -> ListReply {
        try call(.list, EmptyRequest())
    }

    /// One app, with its latest log lines.
    public func describe(_ request: DescribeRequest) throws(ControlClientError) -> DescribeReply {
        try call(.describe, request)
    }

    /// The latest reports.
    public func reports(_ request: ReportsRequest = ReportsRequest()) throws(ControlClientError) -> ReportsReply {
        try call(.reports, request)
    }

    /// Starts an app.
    public func launch(_ request: AppRequest) throws(ControlClientError) -> LaunchReply {
        try call(.launch, request, patience: request.waits ? nil : patience)
    }

    /// Asks an app to end.
    public func terminate(_ request: AppRequest) throws(ControlClientError) -> TerminateReply {
        try call(.terminate, request, patience: request.waits ? nil : patience)
    }

    /// Terminates an app, if it runs, and starts it.
    public func restart(_ request: AppRequest) throws(ControlClientError) -> LaunchReply {
        try call(.restart, request, patience: request.waits ? nil : patience)
    }

    /// Takes the stacks of a running app, and waits for the report.
    public func capture(_ request: CaptureRequest) throws(ControlClientError) -> CaptureReply {
        try call(.capture, request, patience: nil)
    }

    /// Reads the configuration again.
    public func reload() throws(ControlClientError) -> ReloadReply {
        try call(.reload, EmptyRequest())
    }

    /// Tells what happens, for as long as the closure wants to know.
    ///
    /// - Parameters:
    ///   - request: What is to be told.
    ///   - next: Called for each reply, first with an empty one; false ends it, and the connection is of no more use.
    public func monitor(
        _ request: MonitorRequest = MonitorRequest(), next: (MonitorReply) -> Bool
    ) throws(ControlClientError) {
        let begin = Call(method: ControlMethod.monitor.rawValue, parameters: request, more: true)
        try send(begin, until: .now() + patience)
        while true {
            let (reply, continues): (MonitorReply, Bool) = try receive(until: nil)
            guard next(reply), continues else { return }
        }
    }

    // MARK: - Messages

    private struct Call<Request: ControlRequest>: Encodable {
        let method: String
        let parameters: Request
        var more: Bool?
    }

    private struct Head: Decodable {
        let error: String?
        let continues: Bool?
    }

    private struct Success<Reply: ControlReply>: Decodable {
        let parameters: Reply
    }

    private struct Failure: Decodable {
        let parameters: ControlError.Parameters?
    }

    private func call<Reply: ControlReply>(
        _ method: ControlMethod, _ request: some ControlRequest
    ) throws(ControlClientError) -> Reply {
        try call(method, request, patience: patience)
    }

    private func call<Reply: ControlReply>(
        _ method: ControlMethod, _ request: some ControlRequest, patience: Duration?
    ) throws(ControlClientError) -> Reply {
        try send(Call(method: method.rawValue, parameters: request), until: .now() + self.patience)
        return try receive(until: patience.map { .now() + $0 }).0
    }

    private func send(_ call: some Encodable, until deadline: Instant) throws(ControlClientError) {
        var bytes: [UInt8]
        do {
            bytes = Array(try encoder.encode(call)) + [0]
        } catch {
            preconditionFailure("a call holds only strings, integers and truth values, which JSON can hold: \(error)")
        }
        while !bytes.isEmpty {
            let sent = Glibc.send(descriptor.number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            if sent >= 0 {
                bytes.removeFirst(sent)
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: try wait(for: Int16(POLLOUT), until: deadline)
            // Why it was closed may be there to be read.
            case EPIPE, ECONNRESET: return
            default: throw failed("send to watchdogd")
            }
        }
    }

    private func receive<Reply: ControlReply>(
        until deadline: Instant?
    ) throws(ControlClientError) -> (Reply, continues: Bool) {
        let message = Data(try nextMessage(until: deadline))
        do {
            let head = try decoder.decode(Head.self, from: message)
            guard let name = head.error else {
                return (try decoder.decode(Success<Reply>.self, from: message).parameters, head.continues ?? false)
            }
            let failure = try? decoder.decode(Failure.self, from: message)
            throw ControlClientError.refused(ControlError(wireName: name, parameters: failure?.parameters))
        } catch let error as ControlClientError {
            throw error
        } catch {
            throw notUnderstood("\(error)")
        }
    }

    private func nextMessage(until deadline: Instant?) throws(ControlClientError) -> [UInt8] {
        while true {
            do {
                if let message = try input.next() {
                    try JSONShape.check(message)
                    return message
                }
            } catch {
                throw notUnderstood(error.description)
            }
            try read(until: deadline)
        }
    }

    private func read(until deadline: Instant?) throws(ControlClientError) {
        let room = min(input.room, 64 << 10)
        let (length, error) = withUnsafeTemporaryAllocation(byteCount: room, alignment: 1) { buffer in
            let length = recv(descriptor.number, buffer.baseAddress, room, 0)
            let error = errno
            if length > 0 { input.append(UnsafeRawBufferPointer(rebasing: buffer[..<length])) }
            return (length, error)
        }
        if length > 0 { return }
        if length == 0 || error == ECONNRESET {
            throw ControlClientError(.disconnected, "watchdogd closed the connection before it had answered")
        }
        switch error {
        case EINTR: return
        case EAGAIN: try wait(for: Int16(POLLIN), until: deadline)
        default:
            errno = error
            throw failed("receive from watchdogd")
        }
    }

    private func wait(for events: Int16, until deadline: Instant?) throws(ControlClientError) {
        var entry = pollfd(fd: descriptor.number, events: events, revents: 0)
        var milliseconds: Int32 = -1
        if let deadline {
            let left = (deadline - .now()).nanoseconds
            guard left > 0 else {
                throw ControlClientError(.timedOut, "watchdogd did not answer at \(place.path) in time")
            }
            milliseconds = Int32(clamping: left / 1_000_000 + 1)
        }
        // Whatever it says: what there is to do is tried again.
        _ = poll(&entry, 1, milliseconds)
    }

    private func failed(_ operation: String) -> ControlClientError {
        let error = LinuxError(operation, Errno(rawValue: errno))
        return ControlClientError(.system(error), error.description)
    }

    private func notUnderstood(_ reason: String) -> ControlClientError {
        ControlClientError(.notUnderstood, "watchdogd's answer was not understood: \(reason)")
    }
}
