// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

@testable import WatchdogLinux
@testable import WatchdogMeasurement

/// Whatever a server answers, and whatever a client asks the metrics port: it is judged, the same in one piece or in many,
/// with reasons that fit into a line.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzAnswers(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    for body in [nil, "ok", "abab"] { checkProbe(bytes, body) }
    checkAnswer(bytes)
    checkRequest(bytes)
    if let status = TrialQuestion.status(in: bytes) { precondition((100...599).contains(status)) }
    if let address = try? WebAddress(parsing: String(decoding: bytes, as: UTF8.self)) {
        precondition(!address.host.isEmpty && UInt16(address.port).map { $0 > 0 } == true)
        precondition((try? WebAddress(parsing: address.description)) == address)
    }
    return 0
}

/// A probe.
private func checkProbe(_ bytes: [UInt8], _ body: String?) {
    let expectation = HTTPAnswer.Expectation(statuses: [200...204, 301...301, 503...503], body: body)
    var answer = HTTPAnswer(expecting: expectation)
    let result = answer.receive(bytes) ?? answer.end()
    switch result {
    case .answered:
        // Chunks may divide it, and blanks in a field do not matter.
        let text = String(decoding: bytes.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
        let isWhole = !text.lowercased().contains("chunked")
        precondition(body.map { !isWhole || bytes.contains(Array($0.utf8)) } ?? true)
    case .failed(let reason): checkReason(reason)
    case .impossible: preconditionFailure("an answer says nothing about this machine")
    }
    for size in [1, 7, 300] {
        var parts = HTTPAnswer(expecting: expectation)
        var rest = bytes[...]
        var early: ProbeResult?
        while early == nil, !rest.isEmpty {
            early = parts.receive(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        let judged = early ?? parts.end()
        precondition(judged == result)
    }
}

/// The answer to a question of a command.
private func checkAnswer(_ bytes: [UInt8]) {
    let limit = 4_096
    do throws(WebRequest.Failure) {
        let answer = try WebRequest.parse(bytes, limit: limit)
        precondition((100...599).contains(answer.status))
        precondition(answer.body.count <= limit && answer.body.count <= bytes.count)
        let again =
            Array("HTTP/1.0 \(answer.status) \r\nContent-Length: \(answer.body.count)\r\n\r\n".utf8) + answer.body
        precondition((try? WebRequest.parse(again, limit: limit)) == answer)
    } catch {
        checkReason(error.reason)
    }
}

/// A client of the metrics port.
private func checkRequest(_ bytes: [UInt8]) {
    let limit = 1_024
    let input = Array(bytes.prefix(limit))
    let request = HTTPRequest(input, limit: limit)
    switch request {
    case .incomplete: precondition(input.count < limit)
    case .get(let path), .head(let path):
        precondition(path.first == "/" && path.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != 0x3f })
    case .refused(let status): precondition([.badRequest, .methodNotAllowed, .headTooLarge].contains(status))
    }
    // What a part has decided, the rest does not change.
    for length in Set([input.count / 4, input.count / 2, input.count - input.count / 4]) {
        let part = HTTPRequest(Array(input.prefix(length)), limit: limit)
        precondition(part == .incomplete || part == request)
    }
}

private func checkReason(_ reason: String) {
    precondition(!reason.isEmpty && reason.utf8.count <= 200 && reason.utf8.allSatisfy { (0x20...0x7e).contains($0) })
}
