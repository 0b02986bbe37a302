// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogLinux

extension ControlClient {
    struct Call<Request: ControlRequest>: Encodable {
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

    func call<Reply: ControlReply>(
        _ method: ControlMethod, _ request: some ControlRequest
    ) throws(ControlClientError) -> Reply {
        try call(method, request, patience: patience)
    }

    func call<Reply: ControlReply>(
        _ method: ControlMethod, _ request: some ControlRequest, patience: Duration?
    ) throws(ControlClientError) -> Reply {
        let deadline = Instant.now() + self.patience
        if let parameters = Self.plainJSON(of: request) {
            let call = "{\"method\":\"\(method.rawValue)\",\"parameters\":\(parameters)}\0"
            try write(Array(call.utf8), until: deadline)
        } else {
            try send(Call(method: method.rawValue, parameters: request), until: deadline)
        }
        return try receive(until: patience.map { .now() + $0 }).0
    }

    /// A request as JSON, without an encoder, whose first use costs 0.3 ms; nil for a request that needs one.
    private static func plainJSON(of request: some ControlRequest) -> String? {
        switch request {
        case let request as AppRequest: request.plainJSON
        case let request as DescribeRequest: request.plainJSON
        case is EmptyRequest: "{}"
        default: nil
        }
    }

    func send(_ call: some Encodable, until deadline: Instant) throws(ControlClientError) {
        let message: [UInt8]
        do {
            message = Array(try encoder.encode(call)) + [0]
        } catch {
            preconditionFailure("a call holds only strings, integers and truth values, which JSON can hold: \(error)")
        }
        try write(message, until: deadline)
    }

    private func write(_ message: [UInt8], until deadline: Instant) throws(ControlClientError) {
        var bytes = message
        while !bytes.isEmpty {
            let sent = Glibc.send(descriptor.number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            if sent >= 0 {
                bytes.removeFirst(sent)
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: try wait(for: Int16(POLLOUT), until: deadline)
            // The server may have sent the reason before it closed the connection, so read on.
            case EPIPE, ECONNRESET: return
            default: throw failed("send to watchdogd")
            }
        }
    }

    func receive<Reply: ControlReply>(
        until deadline: Instant?
    ) throws(ControlClientError) -> (Reply, continues: Bool) {
        try Self.decode(try nextMessage(until: deadline), with: decoder)
    }

    /// Reads a message without its NUL, which is untrusted.
    static func decode<Reply: ControlReply>(
        _ message: [UInt8], with decoder: @autoclosure () -> JSONDecoder
    ) throws(ControlClientError) -> (Reply, continues: Bool) {
        if Reply.self == LaunchReply.self || Reply.self == TerminateReply.self,
            let reply = PlainReply(decoding: message)?.reply(as: Reply.self)
        {
            return (reply, false)
        }
        do {
            try JSONShape.check(message)
            let (message, decoder) = (Data(message), decoder())
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
                if let message = try input.next() { return message }
            } catch {
                throw Self.notUnderstood(error.description)
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
        // The result is ignored, because the operation is retried anyway.
        _ = poll(&entry, 1, milliseconds)
    }

    private func failed(_ operation: String) -> ControlClientError {
        let error = LinuxError(operation, Errno(rawValue: errno))
        return ControlClientError(.failed(error), error.description)
    }

    private static func notUnderstood(_ reason: String) -> ControlClientError {
        ControlClientError(.notUnderstood, "watchdogd's answer was not understood: \(reason)")
    }
}
