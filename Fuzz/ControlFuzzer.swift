// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogBase
import WatchdogConversation

@testable import WatchdogControl

/// Whatever comes over the control socket, from either side, and to or from a program that drives `watchdogd run`: it is cut
/// into the same messages in any pieces, what is read survives a round trip, and what is printed is safe for a terminal.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzControl(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let stream = Stream(bytes, pieces: bytes.count)
    for size in [1, 5, 4_000] { precondition(Stream(bytes, pieces: size) == stream) }
    if let fault = stream.fault { check(.malformedMessage(reason: fault.description)) }
    for message in stream.messages.prefix(3) { checkMessage(message) }
    // Most inputs are one message without its end.
    if stream.messages.isEmpty { checkMessage(bytes) }
    return 0
}

private let encoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
}()

/// What a buffer makes of bytes.
private struct Stream: Equatable {
    var messages: [[UInt8]] = []
    var fault: MessageFault?

    init(_ bytes: [UInt8], pieces size: Int) {
        var buffer = MessageBuffer(limit: 4_096)
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(min(size, buffer.room))
            precondition(!piece.isEmpty)
            buffer.append(piece)
            rest = rest.dropFirst(piece.count)
            while buffer.hasMessage, fault == nil {
                do throws(MessageFault) {
                    guard let message = try buffer.next() else { preconditionFailure("there is a message") }
                    precondition(!message.isEmpty && message.count <= buffer.limit && !message.contains(0))
                    messages.append(message)
                } catch {
                    fault = error
                }
            }
            if fault != nil { return }
        }
    }
}

private func checkMessage(_ message: [UInt8]) {
    checkCall(message)
    checkReplies(message)
    checkDriver(message)
}

// MARK: - Calls

private struct DecodedCall: Decodable {
    let method: String
    let parameters: AppRequest
}

private func checkCall(_ message: [UInt8]) {
    let decoder = JSONDecoder()
    if let plain = PlainCall(decoding: message) {
        // What is read without a decoder is what the decoder reads.
        let decoded = try? decoder.decode(DecodedCall.self, from: Data(message))
        precondition(plain.method == decoded?.method && plain.request == decoded?.parameters)
    }
    let call: VarlinkCall
    do throws(MessageFault) {
        call = try VarlinkCall(decoding: message, with: decoder)
    } catch {
        return check(.malformedMessage(reason: error.description))
    }
    precondition(call.method.utf8.count <= VarlinkCall.longestMethod)
    if ControlMethod(rawValue: call.method) == nil { check(ControlMethod.unknown(call.method)) }
    checkParameters(AppRequest.self, of: call)
    checkParameters(CaptureRequest.self, of: call)
    checkParameters(DescribeRequest.self, of: call)
    checkParameters(EmptyRequest.self, of: call)
    checkParameters(InterfaceRequest.self, of: call)
    checkParameters(MonitorRequest.self, of: call)
    checkParameters(ReloadRequest.self, of: call)
    checkParameters(ReportsRequest.self, of: call)
    guard let event = checkParameters(EventRequest.self, of: call) else { return }
    do throws(ControlError) {
        try event.check()
        precondition((1...EventRequest.limits.kind).contains(event.kind.utf8.count))
        precondition((event.payload ?? "").utf8.count <= EventRequest.limits.payload)
        precondition(!(event.kind + (event.payload ?? "")).utf8.contains { $0 == 0 || $0 == 0x0a || $0 == 0x0d })
    } catch {
        check(error)
    }
}

@discardableResult
private func checkParameters<Request: ControlRequest>(_ type: Request.Type, of call: VarlinkCall) -> Request? {
    do throws(ControlError) {
        let request = try call.parameters(as: type, with: JSONDecoder())
        guard let message = try? encoder.encode(ControlClient.Call(method: call.method, parameters: request)),
            let again = try? VarlinkCall(decoding: Array(message), with: JSONDecoder())
        else { preconditionFailure("what was read cannot be sent") }
        precondition(again.method == call.method)
        precondition((try? again.parameters(as: type, with: JSONDecoder())) == request)
        return request
    } catch {
        check(error)
        return nil
    }
}

/// An error arrives at the client as it was sent, and can be shown.
private func check(_ error: ControlError) {
    let bytes = written(error.body, error: error.wireName, piecesPerTurn: 1)
    do throws(ControlClientError) {
        let _: (TerminateReply, Bool) = try ControlClient.decode(bytes, with: JSONDecoder())
        preconditionFailure("an error was read as a reply")
    } catch let answer {
        precondition(answer.controlError == error)
        checkText(answer.description)
    }
}

/// A reply in parts, as the server writes it, without its NUL.
private func written(_ body: ReplyBody, error: String? = nil, piecesPerTurn: Int) -> [UInt8] {
    var writer = ReplyWriter(body, error: error, encoder: encoder)
    var output = OutputBuffer()
    while !writer.write(to: &output, atMost: piecesPerTurn) {}
    var bytes = output.takeAll()
    precondition(bytes.popLast() == 0 && !bytes.contains(0))
    return bytes
}

// MARK: - Replies

private func checkReplies(_ message: [UInt8]) {
    let style = ControlText.Style(columns: 79, time: LocalTime(now: Timestamp(microseconds: 1_700_000_000_000_000)))
    if let list: ListReply = read(message) {
        checkText(ControlText.list(list, style: style))
        var screen = TopScreen()
        screen.update(list.apps.map { TopApp($0) })
        for key in TopKey.keys(in: Array(message.suffix(8))) { _ = screen.press(key) }
        let lines = screen.lines(columns: 80, rows: 24, style: style, isUnicode: true)
        precondition(lines.count == 24 && lines.allSatisfy { $0.count <= 80 })
        checkText(lines.joined(separator: "\n"))
    }
    if let description: DescribeReply = read(message) {
        checkText(ControlText.status(description, style: style))
        checkText(ControlText.log(description.log, style: style))
        checkText(ControlText.ping(description.app))
    }
    if let daemon: DaemonReply = read(message) { checkText(ControlText.status(daemon, style: style)) }
    if let event: MonitorReply = read(message) { checkText(ControlText.event(event, style: style)) }
    if let reload: ReloadReply = read(message) {
        checkText(ControlText.reload(reload, style: style))
        checkText(ControlText.dryRun(reload, style: style))
    }
    if let reload: ReloadAppReply = read(message) { checkText(ControlText.reload(reload, of: "web", style: style)) }
    if let launch: LaunchReply = read(message) { checkText(ControlText.end(launch, of: "web") ?? "") }
    if let metrics: MetricsReply = read(message) {
        let half = AnswerBuckets(Array(metrics.parts.prefix(metrics.parts.count / 2)))
        let span = AnswerBuckets(metrics.parts).percentile99(of: "web", since: half)
        precondition((span ?? .zero) >= .zero)
    }
    let _: CaptureReply? = read(message)
    let _: LifecycleReply? = read(message)
    let _: ReportsReply? = read(message)
    let _: ServiceInfo? = read(message)
    let _: TerminateReply? = read(message)
}

private func read<Reply: ControlReply>(_ message: [UInt8]) -> Reply? {
    do throws(ControlClientError) {
        let (reply, _): (Reply, Bool) = try ControlClient.decode(message, with: JSONDecoder())
        let body = (reply as? any PiecewiseReply)?.body ?? .whole(reply)
        let again: (Reply, continues: Bool)? = try? ControlClient.decode(
            written(body, piecesPerTurn: 2), with: JSONDecoder())
        precondition(again?.0 == reply && again?.continues == false)
        return reply
    } catch {
        checkText(error.description)
        return nil
    }
}

private func checkText(_ text: String) { precondition(text.terminalLines.joined(separator: "\n") == text) }

// MARK: - Drivers of watchdogd run

private func checkDriver(_ line: [UInt8]) {
    if let request = try? RemoteRequest(parsing: line) {
        precondition(request.line.utf8.count <= RemoteRequest.maximumLength)
        precondition((try? RemoteRequest(parsing: request.line.utf8)) == request)
    }
    if let event = try? JSONDecoder().decode(RemoteEvent.self, from: Data(line)) {
        guard let encoded = try? encoder.encode(event) else { preconditionFailure("what was read cannot be sent") }
        precondition((try? JSONDecoder().decode(RemoteEvent.self, from: encoded)) == event)
    }
}
