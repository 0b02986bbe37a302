// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogConversation
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogVerdict

/// The socket of the program that drives a run: it sends requests and receives events, and closing it ends the app.
///
/// Isolation: the loop's thread.
final class RemoteControl {
    /// The maximum number of unread bytes; beyond it, the driver counts as gone, and the app is killed.
    private static let mostUnread = 1 << 20

    private let socket: OwnedDescriptor
    private let supervisor: Supervisor
    private let encoder = JSONEncoder()
    private var source: IOSource?
    private var received: [UInt8] = []
    private var unsent: [UInt8] = []
    private var state: LifecycleState?
    /// Called with each fault that the driver injects.
    var onFault: (Fault) -> Void = { _ in }

    /// Takes over an inherited socket; throws ``RunError`` if it is not a connected Unix stream socket.
    init(_ number: Int32, _ supervisor: Supervisor, on loop: EventLoop) throws {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        var (type, typeLength) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        let isPeer = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(number, $0, &length) == 0 }
        }
        guard number > STDERR_FILENO, isPeer, address.sun_family == AF_UNIX,
            getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &typeLength) == 0, type == Int32(SOCK_STREAM.rawValue)
        else {
            throw RunError.usage(
                "--remote \(number) is not a connected Unix stream socket; pass one end of socketpair(2)")
        }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        _ = fcntl(number, F_SETFL, O_NONBLOCK)
        socket = OwnedDescriptor(taking: number)
        self.supervisor = supervisor
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        source = try loop.onReadable(socket) { [unowned self] in read() }
        tell(.hello(version: RemoteEvent.version))
    }

    // MARK: - Requests

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(socket.number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        guard count > 0 else { return abandoned() }
        received += buffer.prefix(count)
        while let end = received.firstIndex(of: UInt8(ascii: "\n")) {
            let line = Array(received[..<end])
            received.removeSubrange(...end)
            perform(line)
        }
        if received.count > RemoteRequest.maximumLength { abandoned() }
    }

    private func perform(_ line: [UInt8]) {
        do throws(RemoteRequest.SyntaxError) {
            switch try RemoteRequest(parsing: line) {
            case .foreground: supervisor.request(.foreground)
            case .background: supervisor.request(.background)
            case .suspend: supervisor.request(.suspend)
            case .resume: supervisor.request(.resume)
            case .event(let kind, let payload): supervisor.request(.event(kind: kind, payload: payload))
            case .fault(let text): inject(text)
            case .terminate: supervisor.requestTermination()
            case .kill: kill()
            }
        } catch {
            tell(.refused(request: String(decoding: line, as: UTF8.self).singleLine(limit: 64), reason: "\(error)"))
        }
        tellState()
    }

    private func inject(_ text: String) {
        do throws(Fault.SyntaxError) {
            let fault = try Fault(parsing: text)
            guard !text.split(separator: " ").contains("at") else {
                let reason = "it begins at once; leave out \"at\""
                return tell(.refused(request: "fault \(fault.kind)", reason: reason))
            }
            guard !fault.kind.needsPreparation else {
                let reason = "it must be prepared before the launch; use LaunchSettings.faults or --fault"
                return tell(.refused(request: "fault \(fault.kind)", reason: reason))
            }
            onFault(fault)
            tell(.injected(fault: fault.description))
        } catch {
            tell(.refused(request: "fault \(text.singleLine(limit: 64))", reason: "\(error)"))
        }
    }

    private func kill() {
        supervisor.requestTermination()
        supervisor.requestTermination()
    }

    /// Kills the app after the driver's end, because no other program could end it.
    private func abandoned() {
        guard source != nil else { return }
        source?.cancel()
        source = nil
        kill()
    }

    // MARK: - Events

    func noticed(_ notice: Notice) {
        tellState()
        switch notice {
        case .launched(let pid): tell(.launched(pid: pid))
        case .ready(let source, let after): tell(.ready(afterUSec: after.wholeMicroseconds, source: source.rawValue))
        case .marked(let mark, let after): tell(.marked(mark: mark.name, afterUSec: after.wholeMicroseconds))
        case .hung(let duration): tell(.hung(forUSec: duration.wholeMicroseconds))
        case .lifecycle(.handled(let event, let after)):
            tell(.handled(event: event, afterUSec: after.wholeMicroseconds))
        case .lifecycle(.lost(let event)): tell(.lost(event: event))
        case .lifecycle(.refused(let request, let reason)):
            tell(.refused(request: request.description, reason: reason.words))
        case .adopted, .slow, .starvationCredit, .overslept, .machineResumed, .paused, .resumed, .extended,
            .extensionRefused, .messageRefused, .terminating, .transgressed, .captureTimedOut, .channelLost, .exited,
            .unkillable, .probe, .lifecycle:
            break
        }
    }

    private func tellState() {
        let now = supervisor.machine.lifecycleState
        guard now != state else { return }
        state = now
        tell(.state(state: now.rawValue))
    }

    /// Sends an event to the driver, and queues it while the socket is full.
    func tell(_ event: RemoteEvent) {
        guard source != nil, let line = try? encoder.encode(event) else { return }
        unsent += Array(line) + [UInt8(ascii: "\n")]
        flush(within: .zero)
        if unsent.count > Self.mostUnread { abandoned() }
    }

    /// Sends the queued events, while the driver reads them, for at most one second.
    func finish() { flush(within: .seconds(1)) }

    private func flush(within limit: Duration) {
        let end = Instant.now() + limit
        while !unsent.isEmpty {
            let count = send(socket.number, unsent, unsent.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            if count > 0 {
                unsent.removeFirst(count)
                continue
            }
            guard errno == EAGAIN || errno == EINTR else { return unsent = [] }
            guard Instant.now() < end else { return }
            var entry = pollfd(fd: socket.number, events: Int16(POLLOUT), revents: 0)
            _ = poll(&entry, 1, 10)
        }
    }
}

extension RemoteIncident {
    init(_ incident: Incident, _ report: ReportOutcome) {
        self.init(
            code: incident.code.hexadecimal, event: incident.event.rawValue, isEnforced: incident.isEnforced,
            verdict: report.line, report: report.path, failure: report.failure)
    }
}
