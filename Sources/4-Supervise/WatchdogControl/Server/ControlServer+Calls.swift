// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy

extension ControlServer {
    /// Executes a call, or rejects it.
    func perform(_ call: VarlinkCall, for connection: ControlConnection) {
        do throws(ControlError) {
            guard let method = ControlMethod(rawValue: call.method) else { throw ControlMethod.unknown(call.method) }
            guard access.allows(method.right, to: connection.peer.user) else {
                notice(.notPermitted(method: method.rawValue), connection.peer)
                throw .notPermitted(method.right, user: connection.peer.user, owner: access.owner)
            }
            guard !call.wantsUpgrade else { throw .invalidParameter("upgrade") }
            guard let handler else { throw .shuttingDown }
            try perform(method, call, for: connection, by: handler)
        } catch {
            statistics.errors += 1
            if !call.isOneway { connection.calls.add(.ready(writer(of: error, for: connection))) }
        }
    }

    private func perform(
        _ method: ControlMethod, _ call: VarlinkCall, for connection: ControlConnection, by handler: any ControlHandler
    ) throws(ControlError) {
        switch method {
        case .getInfo:
            _ = try parameters(EmptyRequest.self, of: call)
            reply(.whole(info), to: call, connection)
        case .getInterfaceDescription:
            let request = try parameters(InterfaceRequest.self, of: call)
            guard let definition = ControlInterface.definition(of: request.interface) else {
                throw .interfaceNotFound(request.interface)
            }
            reply(.whole(InterfaceReply(description: definition)), to: call, connection)
        case .list:
            _ = try parameters(EmptyRequest.self, of: call)
            reply(list(handler, mayInspect: mayInspect(connection)), to: call, connection)
        case .describeDaemon:
            _ = try parameters(EmptyRequest.self, of: call)
            let turns = loop.turns
            let daemon = DaemonReply(
                version: info.version, pid: getpid(), apps: handler.appNames.count,
                reports: mayInspect(connection) ? handler.reportsDirectory : nil,
                longestTurn: Microseconds(turns.longest),
                recentTurn: Microseconds(turns.longestRecently(at: loop.now)))
            reply(.whole(daemon), to: call, connection)
        case .monitor:
            try monitor(parameters(MonitorRequest.self, of: call), call, for: connection, by: handler)
        case .describe:
            try describe(parameters(DescribeRequest.self, of: call), call, for: connection, by: handler)
        case .reports:
            var request = try parameters(ReportsRequest.self, of: call)
            request.limit = try count(request.limit, named: "limit", default: limits.reports, most: limits.reports)
            handler.reports(request, answer: answer(to: call, connection))
        case .metrics:
            _ = try parameters(EmptyRequest.self, of: call)
            handler.metrics(answer: answer(to: call, connection))
        case .launch:
            let request = try parameters(AppRequest.self, of: call)
            handler.launch(request, from: connection.peer, answer: answer(to: call, connection))
        case .terminate:
            let request = try parameters(AppRequest.self, of: call)
            handler.terminate(request, from: connection.peer, answer: answer(to: call, connection))
        case .restart:
            let request = try parameters(AppRequest.self, of: call)
            handler.restart(request, from: connection.peer, answer: answer(to: call, connection))
        case .capture:
            let request = try parameters(CaptureRequest.self, of: call)
            handler.capture(request, from: connection.peer, answer: answer(to: call, connection))
        case .foreground: try move(.foreground, call, for: connection, by: handler)
        case .background: try move(.background, call, for: connection, by: handler)
        case .suspend: try move(.suspend, call, for: connection, by: handler)
        case .resume: try move(.resume, call, for: connection, by: handler)
        case .sendEvent:
            let request = try parameters(EventRequest.self, of: call)
            try request.check()
            handler.sendEvent(request, from: connection.peer, answer: answer(to: call, connection))
        case .reload:
            let request = try parameters(ReloadRequest.self, of: call)
            handler.reload(request, from: connection.peer, answer: answer(to: call, connection))
        case .reloadApp:
            let request = try parameters(AppRequest.self, of: call)
            handler.reload(request, from: connection.peer, answer: answer(to: call, connection))
        }
    }

    private func move(
        _ lifecycle: LifecycleRequest, _ call: VarlinkCall, for connection: ControlConnection,
        by handler: any ControlHandler
    ) throws(ControlError) {
        let request = try parameters(AppRequest.self, of: call)
        handler.request(lifecycle, of: request, from: connection.peer, answer: answer(to: call, connection))
    }

    private func parameters<Request: ControlRequest>(
        _ type: Request.Type, of call: VarlinkCall
    ) throws(ControlError) -> Request {
        try call.parameters(as: type, with: decoder)
    }

    private func count(_ value: Int?, named name: String, default normal: Int, most: Int) throws(ControlError) -> Int {
        guard let value else { return min(normal, most) }
        guard value >= 0 else { throw .invalidParameter(name) }
        return min(value, most)
    }

    // MARK: - Methods

    /// Reads each app when its entry is written, so that a list of thousands of apps is never in memory as a whole.
    private func list(_ handler: any ControlHandler, mayInspect: Bool) -> ReplyBody {
        let names = handler.appNames
        let invalid = handler.invalidFiles
        return .members([
            .list("apps", count: names.count) { [weak handler] index in
                let app = handler?.summary(of: names[index])
                return mayInspect ? app : app?.outline
            },
            .list("invalid", mayInspect ? invalid : invalid.filter { !$0.name.isEmpty }.map(\.outline)),
            mayInspect ? nil : .value("isWithheld", true),
        ])
    }

    private func monitor(
        _ request: MonitorRequest, _ call: VarlinkCall, for connection: ControlConnection,
        by handler: any ControlHandler
    ) throws(ControlError) {
        guard !call.isOneway else { return }
        guard call.wantsMore else { throw .expectedMore }
        // Fail early: a client that monitors a nonexistent app would wait forever.
        for name in request.apps ?? [] where handler.summary(of: name) == nil { throw .noSuchApp(name) }
        let history = try count(request.history, named: "history", default: 0, most: limits.eventHistory)
        let mayInspect = mayInspect(connection)
        connection.calls.add(
            .monitoring(
                events.cursor(apps: request.apps, history: history, isOutlined: !mayInspect),
                follows: request.follows ?? true, opening: encode(MonitorReply(isWithheld: mayInspect ? nil : true))))
    }

    private func describe(
        _ request: DescribeRequest, _ call: VarlinkCall, for connection: ControlConnection,
        by handler: any ControlHandler
    ) throws(ControlError) {
        var request = request
        let wanted = try count(
            request.logLines, named: "logLines", default: limits.defaultLogLines, most: limits.logLines)
        guard mayInspect(connection) else {
            guard let app = handler.summary(of: request.name) else { throw .noSuchApp(request.name) }
            let outline = DescribeReply(app: app.outline, details: nil, isLogWithheld: wanted > 0, isWithheld: true)
            return reply(outline.body, to: call, connection)
        }
        request.logLines = wanted
        handler.describe(request, answer: answer(to: call, connection))
    }

    private func mayInspect(_ connection: ControlConnection) -> Bool {
        access.allows(.inspect, to: connection.peer.user)
    }

    // MARK: - Resumption

    private func reply(_ body: ReplyBody, to call: VarlinkCall, _ connection: ControlConnection) {
        guard !call.isOneway else { return }
        connection.calls.add(.ready(ReplyWriter(body, encoder: encoder)))
    }

    private func answer<Reply: ControlReply>(
        to call: VarlinkCall, _ connection: ControlConnection
    ) -> ControlAnswer<Reply> {
        guard !call.isOneway else {
            return ControlAnswer { [weak self] result in
                if case .failure = result { self?.statistics.errors += 1 }
            }
        }
        let number = connection.calls.add(.awaited)
        return ControlAnswer { [weak self, id = connection.id] result in
            guard let self, let connection = connections[id], connection.calls.awaits(number) else { return }
            switch result {
            case .success(let reply):
                let body = (reply as? any PiecewiseReply)?.body ?? .whole(reply)
                connection.calls.answer(number, ReplyWriter(body, encoder: encoder))
            case .failure(let error):
                statistics.errors += 1
                connection.calls.answer(number, writer(of: error, for: connection))
            }
            answered(connection)
        }
    }

    /// The maximum number of names to compare for a suggestion, because that happens on the loop.
    private static let mostNames = 2000

    func writer(of error: ControlError, for connection: ControlConnection) -> ReplyWriter {
        var error = error
        if case .noSuchApp(let name, nil) = error { error = missing(name, for: connection) }
        return ReplyWriter(error.body, error: error.wireName, encoder: encoder)
    }

    /// The error for a missing app: its files are invalid, or the name is wrong.
    private func missing(_ name: String, for connection: ControlConnection) -> ControlError {
        // A file without an app has an empty name.
        if let file = handler?.invalidFiles.first(where: { $0.name == name && !name.isEmpty }) {
            return .invalidConfiguration(mayInspect(connection) ? file.diagnostics : [], app: name)
        }
        return .noSuchApp(
            String(name.prefix(Similarity.longest)),
            suggestion: Similarity.nearest(to: name, among: handler?.appNames.prefix(Self.mostNames) ?? []))
    }

    /// A complete error, including its NUL.
    func encode(_ error: ControlError) -> [UInt8] {
        whole(ReplyWriter(error.body, error: error.wireName, encoder: encoder))
    }

    /// A complete reply, including its NUL.
    func encode(_ reply: MonitorReply) -> [UInt8] {
        whole(ReplyWriter(.whole(reply), continues: true, encoder: encoder))
    }

    private func whole(_ writer: ReplyWriter) -> [UInt8] {
        var writer = writer
        var output = OutputBuffer()
        _ = writer.write(to: &output, atMost: .max)
        return output.takeAll()
    }
}
