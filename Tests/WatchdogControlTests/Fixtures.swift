// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy

@testable import WatchdogControl

/// A folder that is removed with its contents when the object is released.
final class TemporaryFolder {
    let path: String

    init() throws {
        var template = Array("/tmp/watchdog-control-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw LinuxError("create a folder", Errno(rawValue: errno)) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// Starts a program as the product does, but with the tests' patience.
func spawn(_ request: SpawnRequest) throws(SpawnError) -> SpawnedProcess {
    var request = request
    request.launchLimit = patience
    return try WatchdogLinux.spawn(request)
}

extension Pidfd {
    /// Kills a test's child, and reaps it.
    func killAndReap() {
        try? send(SIGKILL)
        if eventually({ hasExited }) { _ = try? waitExit() }
    }
}

/// A daemon with invented apps.
final class FakeHandler: ControlHandler {
    var apps: [String: AppSummary] = [:]
    var appNames: [String] = []
    let reportsDirectory: String? = "/r"
    var invalidFiles: [InvalidFile] = []
    /// The calls in order.
    var calls: [String] = []
    var log: [LogLine] = []
    var failure: ControlError?
    var onRestart: () -> Void = {}
    /// Pending replies.
    var pendingLaunches: [ControlAnswer<LaunchReply>] = []
    var pendingTerminations: [ControlAnswer<TerminateReply>] = []

    init(_ names: [String] = ["api", "web"]) {
        appNames = names.sorted()
        for (index, name) in appNames.enumerated() {
            apps[name] = AppSummary(
                name: name, summary: "The \(name)", state: .running, since: Timestamp(microseconds: 1_000_000),
                pid: Int32(100 + index), uptime: .seconds(60), restarts: index)
        }
    }

    func summary(of name: String) -> AppSummary? { apps[name] }

    private func check(_ name: String, _ call: String) throws(ControlError) {
        calls.append(call)
        if let failure { throw failure }
        guard apps[name] != nil else { throw .noSuchApp(name) }
    }

    func describe(_ request: DescribeRequest, answer: ControlAnswer<DescribeReply>) {
        do throws(ControlError) {
            try check(request.name, "describe \(request.name) \(request.logLines ?? -1)")
            guard let app = apps[request.name] else { return }
            let details = AppDetails(allowances: AllowanceSummary(Allowances()))
            // More than requested: hidden fields must not depend on the handler.
            answer.succeed(DescribeReply(app: app, details: details, log: log))
        } catch {
            answer.fail(error)
        }
    }

    func reports(_ request: ReportsRequest, answer: ControlAnswer<ReportsReply>) {
        calls.append("reports \(request.app ?? "-") \(request.limit ?? -1)")
        let report = ReportSummary(app: "web", time: Timestamp(microseconds: 5), path: "/r/web.ips", size: 12)
        answer.succeed(ReportsReply(reports: [report]))
    }

    func metrics(answer: ControlAnswer<MetricsReply>) {
        calls.append("metrics")
        answer.succeed(MetricsReply(parts: ["a 1\n", "b 2\n"]))
    }

    func launch(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<LaunchReply>) {
        do throws(ControlError) {
            try check(request.name, "launch \(request.name)")
            if request.waits { pendingLaunches.append(answer) } else { answer.succeed(LaunchReply(pid: 4711)) }
        } catch {
            answer.fail(error)
        }
    }

    func terminate(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<TerminateReply>) {
        do throws(ControlError) {
            try check(request.name, "terminate \(request.name)")
            if request.waits {
                pendingTerminations.append(answer)
            } else {
                answer.succeed(TerminateReply(isGone: false))
            }
        } catch {
            answer.fail(error)
        }
    }

    func restart(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<LaunchReply>) {
        do throws(ControlError) {
            try check(request.name, "restart \(request.name) by \(peer.user)")
            onRestart()
            answer.succeed(LaunchReply())
        } catch {
            answer.fail(error)
        }
    }

    func capture(_ request: CaptureRequest, from peer: ControlPeer, answer: ControlAnswer<CaptureReply>) {
        calls.append("capture \(request.name)")
        // Dropped: a reply that is never sent.
    }

    func sendEvent(_ request: EventRequest, from peer: ControlPeer, answer: ControlAnswer<LifecycleReply>) {
        self.request(
            .event(kind: request.kind, payload: request.payload ?? ""),
            of: AppRequest(request.name, waits: request.waits), from: peer, answer: answer)
    }

    func request(
        _ lifecycle: LifecycleRequest, of request: AppRequest, from peer: ControlPeer,
        answer: ControlAnswer<LifecycleReply>
    ) {
        do throws(ControlError) {
            try check(request.name, "\(lifecycle) \(request.name)\(request.waits ? " and wait" : "")")
            answer.succeed(LifecycleReply(state: .background))
        } catch {
            answer.fail(error)
        }
    }

    func reload(_ request: ReloadRequest, from peer: ControlPeer, answer: ControlAnswer<ReloadReply>) {
        calls.append("reload")
        if let failure { answer.fail(failure) } else { answer.succeed(ReloadReply(added: ["new"], unchanged: 2)) }
    }

    func reload(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<ReloadAppReply>) {
        do throws(ControlError) {
            try check(request.name, "reload \(request.name)\(request.waits ? " and wait" : "")")
            answer.succeed(ReloadAppReply(duration: request.waits ? .milliseconds(3) : nil, isConfirmed: request.waits))
        } catch {
            answer.fail(error)
        }
    }
}

/// A server on a loop of this thread, with a fake daemon behind it.
final class Station {
    let folder = try? TemporaryFolder()
    let loop: EventLoop
    let handler: FakeHandler
    let socket: ControlSocket
    let server: ControlServer
    let path: String
    var notices: [ControlNotice] = []

    init(
        _ handler: FakeHandler = FakeHandler(), access: ControlAccess = .own, limits: ControlLimits = ControlLimits()
    ) throws {
        self.handler = handler
        path = "\(try #require(folder).path)/control"
        loop = try EventLoop()
        socket = try ControlSocket.bind(path: path, mode: 0o666)
        server = try ControlServer(
            loop: loop, socket: socket, handler: handler, info: ServiceInfo(version: "1.2.3"), access: access,
            limits: limits)
        server.onNotice = { [weak self] in self?.notices.append($0) }
    }

    func turn(_ comment: Comment? = nil, until condition: () throws -> Bool) throws {
        let end = Instant.now() + patience
        while try !condition() {
            try #require(Instant.now() < end, comment ?? "nothing happened in time")
            _ = try loop.runOnce(limit: .milliseconds(50))
        }
    }

    /// Serves all events that are ready.
    func settle() throws {
        while try loop.runOnce(limit: .zero) {}
    }

    /// Runs the body on its own thread and serves until it is done.
    func serving<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
        let result = try Mailbox<Result<Value, any Error>>()
        var outcome: Result<Value, any Error>?
        let source = try loop.receive(from: result) { outcome = $0 }
        startThread { result.post(Result { try body() }) }
        try turn { outcome != nil }
        source.cancel()
        return try #require(outcome).get()
    }
}

/// A caller that sends raw bytes.
final class RawCaller {
    let descriptor: OwnedDescriptor
    private let station: Station
    private(set) var received: [UInt8] = []
    private(set) var isEnded = false

    init(_ station: Station) throws {
        self.station = station
        descriptor = OwnedDescriptor(taking: try connect(station.path))
    }

    func send(_ bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        var start = 0
        while start < bytes.count {
            let sent = bytes.withUnsafeBytes { buffer in
                Glibc.send(
                    descriptor.number, buffer.baseAddress.map { $0 + start }, bytes.count - start, Int32(MSG_NOSIGNAL))
            }
            if sent > 0 { start += sent } else if errno != EAGAIN || (try? station.settle()) == nil { return }
        }
    }

    /// Sends a message, with its NUL.
    func say(_ json: String) { send(Array(json.utf8) + [0]) }

    func call(_ method: String, _ parameters: String = "{}", _ more: String = "") {
        say(#"{"method":"\#(method)","parameters":\#(parameters)\#(more)}"#)
    }

    func finish() { shutdown(descriptor.number, Int32(SHUT_WR)) }

    /// Reads all available bytes.
    func read() {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let length = recv(descriptor.number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard length > 0 else { break }
            received += buffer[..<length]
        }
        var byte: UInt8 = 0
        let length = recv(descriptor.number, &byte, 1, Int32(MSG_DONTWAIT | MSG_PEEK))
        isEnded = length == 0 || (length < 0 && errno != EAGAIN)
    }

    /// Waits for the next message; nil at the end of the connection.
    func next() throws -> String? {
        var message: String?
        try station.turn {
            read()
            if let end = received.firstIndex(of: 0) {
                message = String(decoding: received[..<end], as: UTF8.self)
                received.removeFirst(end + 1)
                return true
            }
            return isEnded
        }
        return message
    }

    func expectEnd() throws {
        try station.turn {
            read()
            return isEnded
        }
        #expect(received == [])
    }
}

/// Stops listening, like the exit of the listening process.
///
/// Another test may be starting a process that has a copy of the socket until its execve(2).
func stopListening(_ socket: ControlSocket?) {
    if let socket { shutdown(socket.descriptor.number, Int32(SHUT_RDWR)) }
}

/// A nonblocking connection.
func connect(_ path: String) throws -> Int32 {
    let descriptor = socket(
        AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    guard result == 0 else {
        let error = Errno(rawValue: errno)
        close(descriptor)
        throw LinuxError("connect to \(path)", error)
    }
    return descriptor
}

let own = ControlInterface.name
let service = "org.varlink.service"
